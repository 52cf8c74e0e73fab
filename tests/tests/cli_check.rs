//! `seamd check` and `seamd plugin inspect`: what they say, and that they leave nothing behind.
#![expect(clippy::unwrap_used, reason = "what the tests share says by panicking what must hold, as they do")]

mod bench;

use bench::*;
use e2e::daemon::Setup;
use e2e::plugins::plugin;
use e2e::provider::Provider;
use std::fs;
use std::net::TcpListener;
use std::path::Path;

async fn check(setup: &Setup, more: &[&str]) -> Said {
    seamd(setup.folder(), &[&["check", "-c", "seamd.toml"], more].concat()).await
}

/// A refused file, as a person reads it.
async fn inspect(name: &str, bytes: &[u8]) -> String {
    let setup = Setup::new("").unwrap();
    setup.write(name, bytes).unwrap();
    let said = seamd(setup.folder(), &["plugin", "inspect", name]).await;
    assert_eq!((said.code, said.stdout.as_str()), (Some(3), ""));
    let json = seamd(setup.folder(), &["plugin", "inspect", "--json", name]).await;
    assert_eq!((json.code, json.stderr.as_str()), (Some(3), ""));
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["error"], said.stderr.trim_end());
    said.stderr
}

#[tokio::test]
async fn a_good_configuration_is_said_to_be_good() {
    let provider = Provider::start().unwrap();
    let plugins = plugin_table("versioned.so", "") + &plugin_table("none.so", "on_load_error = \"skip\"");
    let setup = setup(&toml(&provider, &plugins), &[("versioned.so", &versioned(b'1'))]);
    let said = check(&setup, &[]).await;
    assert_eq!((said.code, &*said.stdout), (Some(0), "seamd.toml is good: 1 provider, 1 route, 1 plugin\n"));
    insta::assert_snapshot!(plain(&said.stderr, setup.folder()), @"warning: skipped plugin none.so (FOLDER/plugins/none.so): there is no such file");
    let said = check(&setup, &["--json"]).await;
    assert_eq!((said.code, &*said.stdout, &*said.stderr), (Some(0), "[]\n", ""));
}

#[tokio::test]
async fn what_make_run_starts_is_good() {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/daemon/demo");
    let setup = Setup::new(&fs::read_to_string(demo.join("seamd.toml")).unwrap()).unwrap();
    for stream in fs::read_dir(demo.join("streams")).unwrap() {
        let stream = stream.unwrap();
        let name = format!("streams/{}", stream.file_name().to_string_lossy());
        setup.write(&name, fs::read(stream.path()).unwrap()).unwrap();
    }
    for name in ["redaction", "halt_on_pattern", "dialect_normalization", "stream_metrics"] {
        setup.write(&format!("plugins/{name}.so"), fs::read(plugin(name).unwrap()).unwrap()).unwrap();
    }
    let said = check(&setup, &[]).await;
    assert_eq!((said.code, &*said.stderr), (Some(0), ""));
    assert_eq!(said.stdout, "seamd.toml is good: 1 provider, 1 route, 4 plugins\n");
}

#[tokio::test]
async fn faults_are_a_list_for_machines() {
    let provider = Provider::start().unwrap();
    let setup = Setup::new(&toml(&provider, &plugin_table("none.so", ""))).unwrap();
    let said = check(&setup, &["--json"]).await;
    assert_eq!((said.code, &*said.stderr), (Some(3), ""));
    let faults: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(faults.as_array().unwrap().len(), 1);
    let fault = &faults[0];
    assert_eq!(
        (&fault["file"], &fault["key"], &fault["column"]),
        (&"seamd.toml".into(), &"plugin[0].path".into(), &8.into())
    );
    assert!(fault["message"].as_str().unwrap().ends_with("there is no such file"), "{fault}");
    let said = seamd(setup.folder(), &["check", "--json", "-c", "none.toml"]).await;
    let faults: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(said.code, Some(3));
    assert!(faults[0]["message"].as_str().unwrap().starts_with("cannot read the configuration file none.toml: "));
}

/// Its addresses may be those of the daemon that runs.
#[tokio::test]
async fn it_does_not_serve_and_leaves_nothing_behind() {
    let provider = Provider::start().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let toml = toml_with(&provider, "state_dir = \"state\"", &plugin_table("versioned.so", ""))
        .replace("listen = \"127.0.0.1:0\"", &format!("listen = \"{}\"", taken.local_addr().unwrap()))
        .replace("admin = \"127.0.0.1:0\"", "admin = \"unix:admin.sock\"");
    let setup = setup(&toml, &[("versioned.so", &versioned(b'1'))]);
    let everything = || walk(setup.folder());
    let before = everything();
    let temporary = tempfile::tempdir().unwrap();
    // A shell, because the variable is the command's alone.
    let mut command = std::process::Command::new(e2e::daemon::command().unwrap().get_program());
    command.args(["check", "-c"]).arg(setup.config()).env("TMPDIR", temporary.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(everything(), before);
    assert_eq!(walk(temporary.path()), Vec::<String>::new());
    assert_eq!(provider.connections(), 0);
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        paths.push(path.display().to_string());
        if path.is_dir() {
            paths.extend(walk(&path));
        }
    }
    paths.sort();
    paths
}

#[tokio::test]
async fn a_plugin_is_shown_with_what_it_says_of_itself() {
    let setup = Setup::new("").unwrap();
    setup.write("versioned.so", versioned(b'1')).unwrap();
    let said = seamd(setup.folder(), &["plugin", "inspect", "versioned.so"]).await;
    assert_eq!((said.code, &*said.stderr), (Some(0), ""));
    insta::with_settings!({filters => vec![
        (r"[0-9a-f]{64}", "SHA256"), (r"[0-9]+ bytes", "SIZE"), (r"\d+\.\d+\.\d+", "VERSION"), (r"\([0-9a-f]{9} [0-9-]{10}\)", "(BUILD)"),
        (r"glibc       .*", "glibc       GLIBC or newer"), (r"needs       .*", "needs       LIBRARIES"), (r"for   .*", "for   TARGET"),
    ]}, {
        insta::assert_snapshot!("inspected", said.stdout);
    });
    let said = seamd(setup.folder(), &["plugin", "inspect", "--json", "versioned.so"]).await;
    let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((&json["name"], &json["abi"], &json["path"]), (&"versioned".into(), &1.into(), &"versioned.so".into()));
    assert_eq!(json["size"], versioned(b'1').len());
}

#[tokio::test]
async fn a_plugin_that_is_loaded_says_more() {
    let setup = Setup::new("").unwrap();
    setup.write("versioned.so", versioned(b'1')).unwrap();
    let file = seamd(setup.folder(), &["plugin", "inspect", "versioned.so"]).await.stdout;
    let said = seamd(setup.folder(), &["plugin", "inspect", "--load", "versioned.so"]).await;
    assert_eq!((said.code, &*said.stderr), (Some(0), ""));
    insta::assert_snapshot!("loaded", said.stdout.strip_prefix(&file).unwrap());
    let json = seamd(setup.folder(), &["plugin", "inspect", "--load", "--json", "versioned.so"]).await;
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&json["name"], &json["config_schema"]["type"]), (&"versioned".into(), &"object".into()));
    setup.write("text.so", b"a text\n").unwrap();
    let refused = seamd(setup.folder(), &["plugin", "inspect", "--load", "text.so"]).await;
    assert_eq!((refused.code, &*refused.stderr), (Some(3), "text.so: it is a text, not a shared library\n"));
}

#[tokio::test]
async fn what_is_no_plugin_is_said_in_one_line() {
    let good = versioned(b'1');
    let cut = &good[..4096];
    let refused = [
        inspect("text.so", b"a text\n").await,
        inspect("empty.so", b"").await,
        inspect("cut.so", cut).await,
        seamd(Setup::new("").unwrap().folder(), &["plugin", "inspect", "none.so"]).await.stderr,
    ];
    insta::with_settings!({filters => vec![(r"speak of \d+", "speak of SIZE")]}, {
        insta::assert_snapshot!("not_plugins", refused.concat());
    });
}

#[tokio::test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
async fn what_was_built_for_another_machine_says_so() {
    let mut bytes = versioned(b'1');
    // The machine of an ELF file; 183 is aarch64.
    bytes[18] = 183;
    insta::assert_snapshot!(inspect("other.so", &bytes).await, @"other.so: it was built for aarch64, this machine is x86_64");
}
