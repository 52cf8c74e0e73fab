//! What a person reads, for each kind of fault.

use super::{REST, faults, load};

/// The reports on `cases`, each a piece of a file in front of a provider and a route.
fn reports(cases: &[&str]) -> String {
    let reports = cases.iter().map(|case| faults(&format!("{case}\n{REST}")).to_string());
    reports.collect::<Vec<_>>().join("\n\n----\n\n")
}

#[test]
fn syntax() {
    insta::assert_snapshot!(reports(&[
        "[server]\nlisten = 127.0.0.1:8080",
        "[server\nlisten = \"127.0.0.1:8080\"",
        "[server]\nlisten = \"127.0.0.1:8080",
        "[server]\nlisten =",
        "listen",
        "[server]\nlisten = \"127.0.0.1:80\"\nworkers = 1\nlisten = \"127.0.0.1:81\"",
        "[server]\nworkers = 1\n[server]\nworkers = 2",
        "[server]\nworkers = 08",
        "[[plugin]]\npath = \"a.so\"\n[plugin.config]\nkinds = [\"email\", \"card\"\n",
        "[server]\nworkers = { a = 1",
        "x = 1 y = 2 z = 3",
        "[[plugin]\npath = \"a.so\"",
        "log = \"\"\"\nabc",
        "[[plugin]]\npath = \"a.so\"\nconfig = { a = [1, { b = '''x",
        "[server]\nworkers = 1\n[server.workers]\nx = 1",
        "[log]\nlevel.x = 1\n[log.level]\ny = 1",
    ]));
}

#[test]
fn a_syntax_error_does_not_hide_what_is_wrong_elsewhere() {
    insta::assert_snapshot!(faults("[server]\nworkers = many\ndrain_timeout = \"2d\"\n\n[log]\nlevl = \"info\"\n"));
}

#[test]
fn a_text_that_is_no_text() {
    let report = super::super::parse("seamd.toml".as_ref(), b"[server]\nlisten = \"\xff\"\n").unwrap_err();
    insta::assert_snapshot!(report);
}

#[test]
fn unknown_keys() {
    insta::assert_snapshot!(reports(&[
        "sever = {}",
        "[server]\nlisen = \"127.0.0.1:8080\"",
        "[server]\ndrain = \"30s\"",
        "[server]\ncolour = \"red\"",
        "[[plugin]]\npath = \"a.so\"\nmode = \"live\"",
        "[[plugin]]\npath = \"a.so\"\nhold = { chunk = 3 }",
        "[[provider]]\nname = \"b\"\nfamily = \"openai\"\nbase_url = \"http://h\"\napi_key = { en = \"X\", env = \"X\" }",
        "\"a very \\u0007 odd key that goes on and on and on and on and on and on and on and on and on and on\" = 1",
    ]));
}

#[test]
fn wrong_types() {
    insta::assert_snapshot!(reports(&[
        "server = 1",
        "[server]\nlisten = 8080",
        "[server]\ndrain_timeout = 30",
        "[server]\nworkers = \"4\"",
        "[server]\nmax_frame = 1024",
        "[server]\nstate_dir = [\"a\"]",
        "[reload]\nwatch = \"yes\"",
        "[log]\nformat = 2024-01-01",
        "[[plugin]]\npath = \"a.so\"\ncall_class = 1.5",
        "[[plugin]]\npath = \"a.so\"\nhold = 3",
        "plugin = \"a.so\"",
        "[plugin]\npath = \"a.so\"",
        "plugin = [\"a.so\"]",
        "[[plugin]]\npath = \"a.so\"\nconfig = \"x\"",
    ]));
}

#[test]
fn server() {
    insta::assert_snapshot!(reports(&[
        "[server]\nlisten = \"localhost\"",
        "[server]\nadmin = \"0.0.0.0:8081\"",
        "[server]\nadmin = \"unix:\"",
        "[server]\nadmin = \"socket\"",
        "[server]\nlisten = \"127.0.0.1:9000\"\nadmin = \"127.0.0.1:9000\"",
        "[server]\nlisten = \"127.0.0.1:8081\"",
        "[server]\nworkers = 0",
        "[server]\nworkers = -1",
        "[server]\nworkers = 99999999999999999999",
        "[server]\ndrain_timeout = \"soon\"",
        "[server]\ndrain_timeout = \"2h\"",
        "[server]\nmax_request = \"16 apples\"",
        "[server]\nmax_request = \"2GiB\"",
        "[server]\nstate_dir = \"\"",
    ]));
}

#[test]
fn log_and_reload() {
    insta::assert_snapshot!(reports(&[
        "[log]\nlevel = \"inof\"",
        "[log]\nlevel = \"info,seamd\"",
        "[log]\nlevel = \"seamd=loud\"",
        "[log]\nlevel = \"\"",
        "[log]\nformat = \"jsn\"",
        "[reload]\nsettle = \"1ms\"",
    ]));
}

#[test]
fn providers() {
    insta::assert_snapshot!(reports(&[
        "[[provider]]",
        "[[provider]]\nname = \"Open AI\"\nfamily = \"antropic\"\nbase_url = \"https://h\"",
        "[[provider]]\nname = \"openai\"\nfamily = \"openai\"\nbase_url = \"https://h\"",
        "[[provider]]\nname = \"b\"\nfamily = \"openai\"\nbase_url = \"https://h\"\nrecorded = \"streams\"",
        "[[provider]]\nname = \"b\"\nfamily = \"openai\"\nbase_url = \"api.openai.com/v1\"",
        "[[provider]]\nname = \"b\"\nfamily = \"openai\"\nbase_url = \"https://h/?a=1\"",
        "[[provider]]\nname = \"b\"\nfamily = \"openai\"\nbase_url = \"https://me:word@h\"",
        "[[provider]]\nname = \"b\"\nfamily = \"openai\"\nbase_url = \"https://h\"\npace = \"max\"",
        "[[provider]]\nname = \"b\"\nfamily = \"openai\"\nbase_url = \"https://h\"\nhttp = \"3\"",
        "[[provider]]\nname = \"b\"\nfamily = \"openai\"\nbase_url = \"https://h\"\nidle_timeout = \"0s\"",
        "[[provider]]\nname = \"b\"\nfamily = \"openai\"\nbase_url = \"https://h\"\npool_idle = 100000",
        "[[provider]]\nname = \"b\"\nfamily = \"openai\"\nbase_url = \"https://h\"\nca_file = \"roots.pem\"",
        "[[provider]]\nname = \"b\"\nfamily = \"openai\"\nbase_url = \"http://h\"\nca_file = \"roots.pem\"",
        "[[provider]]\nname = \"b\"\nfamily = \"openai\"\nrecorded = \"streams\"\npace = \"slow\"",
    ]));
}

#[test]
fn recorded_providers_have_no_use_for_a_connection() {
    insta::assert_snapshot!(reports(&["[[provider]]\nname = \"b\"\nfamily = \"openai\"\nrecorded = \"/\"\n\
        api_key = { env = \"X\" }\nidle_timeout = \"1s\"\npace = \"2min\""]));
}

#[test]
fn api_keys_and_headers() {
    let provider = "[[provider]]\nname = \"b\"\nfamily = \"openai\"\nbase_url = \"https://h\"\n";
    let cases = [
        "api_key = \"sk-secret\"",
        "api_key = {}",
        "api_key = { env = \"A\", file = \"b\" }",
        "api_key = { env = \"\" }",
        "api_key = { env = \"A=B\" }",
        "api_key = { command = [] }",
        "api_key = { command = [\"pass\", 1] }",
        "headers = \"x: secret\"",
        "headers = { \"x y\" = \"secret\", x = 1 }",
        "headers = { x = \"séc\\nret\" }",
        "headers = { Host = \"h\", content-length = \"1\" }",
        "headers = { x-team = \"secret\", X-Team = \"hidden\" }",
        "api_key = { env = \"A\" }\nheaders = { Authorization = \"Bearer secret\" }",
    ];
    let cases = cases.map(|case| format!("{provider}{case}"));
    let reports = reports(&cases.each_ref().map(String::as_str));
    insta::assert_snapshot!(reports);
    for secret in ["secret", "séc", "hidden"] {
        assert!(!reports.contains(secret), "{secret} is shown");
    }
}

#[test]
fn more_headers_than_a_server_takes_are_refused() {
    let headers: String = (0..101).map(|number| format!("x-{number} = \"\"\n")).collect();
    let provider = "[[provider]]\nname = \"b\"\nfamily = \"openai\"\nbase_url = \"https://h\"\n";
    insta::assert_snapshot!(reports(&[&format!("{provider}[provider.headers]\n{headers}")]));
}

#[test]
fn routes() {
    insta::assert_snapshot!(reports(&[
        "[[route]]",
        "[[route]]\npath = \"/v1/embeddings\"\nprovider = \"openai\"",
        "[[route]]\npath = \"/v1/messages\"\nprovider = \"openai\"",
        "[[route]]\npath = \"/v1/chat/completions\"\nprovider = \"openai\"",
        "[[route]]\npath = \"/v2\"\nprovider = \"opnai\"\ncall_class = \"chat\"",
    ]));
}

#[test]
fn paths_that_are_passed_through() {
    insta::assert_snapshot!(reports(&[
        "[[passthrough]]",
        "[[passthrough]]\npath = \"v1/embeddings\"\nprovider = \"openai\"",
        "[[passthrough]]\npath = \"/v1/*/files\"\nprovider = \"openai\"",
        "[[passthrough]]\npath = \"/v1/responses\"\nprovider = \"openai\"",
        "[[passthrough]]\npath = \"/v1beta/models/m:generateContent\"\nprovider = \"openai\"",
        "[[passthrough]]\npath = \"/v1/files/*\"\nprovider = \"opnai\"",
    ]));
}

#[test]
fn no_route_at_all() {
    insta::assert_snapshot!(faults(""));
}

#[test]
fn a_route_to_nowhere() {
    insta::assert_snapshot!(faults("[[route]]\npath = \"/v1/chat/completions\"\nprovider = \"openai\"\n"));
}

#[test]
fn plugins() {
    insta::assert_snapshot!(reports(&[
        "[[plugin]]",
        "[[plugin]]\npath = \"a.so\"\nname = \"\"",
        "[[plugin]]\npath = \"a.so\"\nname = \"x\"\n[[plugin]]\npath = \"b.so\"\nname = \"x\"",
        "[[plugin]]\npath = \"a.so\"\ncall_class = \"synthesise\"",
        "[[plugin]]\npath = \"a.so\"\ncall_class = []",
        "[[plugin]]\npath = \"a.so\"\ncall_class = [\"utility\", 1, \"utility\"]",
        "[[plugin]]\npath = \"a.so\"\non_fault = \"stopp\"\non_end_held = \"drop\"\non_load_error = true",
        "[[plugin]]\npath = \"a.so\"\nhold = { chunks = 0, text = 1_000_000_000 }",
        "[[plugin]]\npath = \"a.so\"\n[plugin.config]\nratio = inf\nlist = [1, nan]\nlarge = 0xffff_ffff_ffff_ffff\nhuge = 1e999",
    ]));
}

#[test]
fn ten_at_once() {
    let text = r#"[server]
listen = "localhost"
drain_timeuot = "30s"

[[provider]]
name = "openai"
family = "openai"
base_url = "https://api.openai.com/v1"
connect_timeout = "5"

[[provider]]
name = "openai"
family = "gemni"
recorded = "streams"

[[route]]
path = "/v1/chat/completions"
provider = "opennai"

[[plugin]]
on_fault = "halt"

[plugin.config]
ratio = nan
"#;
    let report = faults(text);
    assert_eq!(report.faults().len(), 10);
    insta::assert_snapshot!(report);
    insta::assert_json_snapshot!("ten_at_once_json", report);
}

#[test]
fn colour_is_only_added_when_asked_for() {
    let report = faults("[server]\nworkers = 0\n");
    assert!(!report.to_string().contains('\u{1b}'));
    let stripped = anstream::adapter::strip_str(&report.to_styled()).to_string();
    assert_eq!(stripped, report.to_string());
    assert_ne!(report.to_styled(), report.to_string());
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = super::super::load("/nowhere/seamd.toml".as_ref()).unwrap_err();
    insta::assert_snapshot!(error, @"cannot read the configuration file /nowhere/seamd.toml");
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn a_good_file_has_no_report() {
    assert!(load(REST).unwrap().source.report().is_empty());
}
