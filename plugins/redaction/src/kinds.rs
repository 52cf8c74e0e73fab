//! The built-in kinds: what each looks like, what may stand in front of it, how its candidates are checked.
//!
//! A pattern says as much as a regex can, because the automaton then knows early when a text can no longer match and
//! lets it go; the check says the rest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::automaton::Semantics;
use crate::checks::{self, Check};

/// A kind of personal data or secret that the plugin knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Private keys in PEM and PGP armour, to their end line; without one, to the end of the text (at most 16 KiB).
    PrivateKey,
    /// Keys and tokens with a known prefix: OpenAI, Anthropic, AWS, GitHub, GitLab, Google, Hugging Face, npm, Slack,
    /// Stripe, Twilio and others; JSON Web Tokens; what follows `Bearer`.
    ApiKey,
    /// Email addresses.
    Email,
    /// International bank account numbers with a known country, its length and valid check digits.
    Iban,
    /// Payment card numbers: 13 to 19 digits of a known issuer with a valid check digit, in the usual groups.
    Card,
    /// United States social security numbers in groups of 3, 2 and 4.
    Ssn,
    /// Phone numbers: with country code, in the North American format, or grouped and with a trunk zero.
    Phone,
    /// IPv4 addresses.
    Ipv4,
    /// IPv6 addresses, compressed or not.
    Ipv6,
}

impl Kind {
    /// Every kind. Where two match the same text, the earlier one names it.
    pub const ALL: [Self; 9] = [
        Self::PrivateKey,
        Self::ApiKey,
        Self::Email,
        Self::Iban,
        Self::Card,
        Self::Ssn,
        Self::Phone,
        Self::Ipv4,
        Self::Ipv6,
    ];

    /// The kind's name in the configuration and in labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PrivateKey => "private_key",
            Self::ApiKey => "api_key",
            Self::Email => "email",
            Self::Iban => "iban",
            Self::Card => "card",
            Self::Ssn => "ssn",
            Self::Phone => "phone",
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
        }
    }
}

/// What may stand in front of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Anything.
    Any,
    /// No ASCII letter, digit or underscore.
    NoWord,
    /// No ASCII letter or digit, and no dot after a digit.
    NoDottedWord,
    /// No digit, and no dot after a digit.
    NoNumber,
    /// As `NoDottedWord`, and no space or dash after a digit: not in a row of numbers.
    NoRow,
}

impl Left {
    /// Whether a match may begin after this byte (`None`: at the beginning of the text).
    pub(crate) fn allows(self, before: Option<u8>) -> bool {
        let Some(before) = before else { return true };
        match self {
            Self::Any => true,
            Self::NoWord => !before.is_ascii_alphanumeric() && before != b'_',
            Self::NoDottedWord | Self::NoRow => !before.is_ascii_alphanumeric(),
            Self::NoNumber => !before.is_ascii_digit(),
        }
    }

    /// Whether a match may begin after a digit and this byte, which by itself allows it.
    pub(crate) const fn allows_after_digit(self, before: u8) -> bool {
        match self {
            Self::Any | Self::NoWord => true,
            Self::NoDottedWord | Self::NoNumber => before != b'.',
            Self::NoRow => !matches!(before, b'.' | b' ' | b'-'),
        }
    }
}

/// How one form of a kind is recognised.
pub(crate) struct Form {
    pub(crate) pattern: String,
    pub(crate) semantics: Semantics,
    pub(crate) left: Left,
    pub(crate) check: Option<Check>,
    /// The most characters that are held undecided. Checked forms are bounded by their pattern instead.
    pub(crate) bound: u32,
    /// The most bytes that one match covers.
    pub(crate) reach: u64,
}

impl Form {
    fn new(pattern: impl Into<String>, left: Left) -> Self {
        Self { pattern: pattern.into(), semantics: Semantics::All, left, check: None, bound: 512, reach: u64::MAX }
    }

    fn checked(self, check: Check) -> Self {
        Self { check: Some(check), bound: u32::MAX, ..self }
    }
}

/// What separates groups of digits: a space, a dot, a dash, and the unbreakable ones that models like to write.
const SEPARATOR: &str = r"[ .\-\u{a0}\u{2009}\u{202f}\u{2010}-\u{2013}]";
/// A letter or digit of a name in an address, Latin with its accents.
const LETTER: &str = r"[0-9A-Za-z\u{c0}-\u{24f}]";

impl Kind {
    /// The forms of the kind.
    pub(crate) fn forms(self) -> Vec<Form> {
        match self {
            Self::PrivateKey => vec![private_key()],
            Self::ApiKey => api_keys(),
            Self::Email => vec![email()],
            Self::Iban => vec![iban()],
            Self::Card => vec![card()],
            Self::Ssn => vec![ssn()],
            Self::Phone => phones(),
            Self::Ipv4 => vec![ipv4()],
            Self::Ipv6 => vec![ipv6()],
        }
    }
}

/// From the begin line to the end line. As the key is one whether or not its end comes, every longer text is a match
/// too: the label goes out with the begin line, and what follows is swallowed, not held. A begin line that is only
/// mentioned (closed by a backtick, a comma, a full stop …) is not one.
fn private_key() -> Form {
    let line = |word: &str| format!("-----{word} (?:[0-9A-Z]+ ){{0,3}}PRIVATE KEY(?: BLOCK)?-----");
    let begin = format!(r#"{}[\s0-9A-Za-z+/\\"']"#, line("BEGIN"));
    let pattern = format!("{begin}(?s:.)*?{}|{begin}(?s:.)*", line("END"));
    Form { semantics: Semantics::Preferred, reach: 16 << 10, ..Form::new(pattern, Left::Any) }
}

fn api_keys() -> Vec<Form> {
    // Prefixes that mean a key wherever they stand.
    let certain = [
        "sk-ant-[0-9A-Za-z_-]{20,}",
        "gh[oprsu]_[0-9A-Za-z]{36,}",
        "github_pat_[0-9A-Za-z_]{22,}",
        "glpat-[0-9A-Za-z_-]{20,}",
        "xox[abeoprs]-[0-9A-Za-z-]{10,}",
        "xapp-[0-9A-Za-z-]{10,}",
        "AIza[0-9A-Za-z_-]{35,}",
        "[rs]k_(?:live|test)_[0-9A-Za-z]{16,}",
        "eyJ[0-9A-Za-z_-]{5,}\\.(?:eyJ[0-9A-Za-z_-]*(?:\\.[0-9A-Za-z_-]+)?|[0-9A-Za-z_-]{8,}(?:\\.[0-9A-Za-z_-]{8,})+)",
    ];
    // Prefixes that also occur inside of words.
    let inside_words = [
        with_digit("sk-", "", "A-Za-z_-", 18),
        "(?:AKIA|ASIA)[0-9A-Z]{16,}".to_owned(),
        "hf_[0-9A-Za-z]{30,}".to_owned(),
        "npm_[0-9A-Za-z]{36,}".to_owned(),
        "gsk_[0-9A-Za-z]{40,}".to_owned(),
        "xai-[0-9A-Za-z]{40,}".to_owned(),
        "SK[0-9a-f]{32,}".to_owned(),
        "SG\\.[0-9A-Za-z_-]{16,}\\.[0-9A-Za-z_-]{16,}".to_owned(),
        "ya29\\.[0-9A-Za-z_-]{20,}".to_owned(),
    ];
    let bearer = with_digit("(?i:bearer) {1,4}", "\\.?", "A-Za-z_~+/-", 16);
    // In the order of what the daemon lets an observer hold, should each character be a chunk.
    let bound = 1000;
    vec![
        Form { bound, ..Form::new(certain.join("|"), Left::Any) },
        Form { bound, ..Form::new(inside_words.join("|"), Left::NoDottedWord) },
        // By itself, as it is the one that goes on behind a space: see `plain`.
        Form { bound, ..Form::new(bearer, Left::NoDottedWord) },
    ]
}

/// `prefix`, then at least `least` symbols of which one is a digit, which tells a key from a hyphenated phrase; each may
/// have `joint` in front of it.
fn with_digit(prefix: &str, joint: &str, symbols: &str, least: usize) -> String {
    let (phrase, digit, any) =
        (format!("(?:{joint}[{symbols}])"), format!("{joint}[0-9]"), format!("(?:{joint}[0-9{symbols}])"));
    let early = (0..least).map(|at| format!("{phrase}{{{at}}}{digit}{any}{{{},}}", least - 1 - at));
    let late = format!("{phrase}{{{least},}}{digit}{any}*");
    let bodies: Vec<String> = early.chain([late]).collect();
    format!("{prefix}(?:{})", bodies.join("|"))
}

/// RFC 5321's sizes: 64 symbols in front of the `@`, 63 in a label; the last label begins with a letter.
fn email() -> Form {
    let local = format!(r"(?:{LETTER}|_)(?:\.?[0-9A-Za-z\u{{c0}}-\u{{24f}}_%+-]){{0,63}}");
    let label = format!("{LETTER}(?:-*{LETTER}){{0,62}}");
    let top = format!(r"[A-Za-z\u{{c0}}-\u{{24f}}](?:-*{LETTER}){{1,62}}");
    Form::new(format!(r"{local}@(?:{label}\.)+{top}"), Left::NoWord)
}

/// Country codes by length, from the IBAN registry (SWIFT, release 99).
const IBAN_COUNTRIES: [(usize, &str); 18] = [
    (15, "NO"),
    (16, "BE"),
    (18, "DK|FK|FI|FO|GL|NL|SD"),
    (19, "MK|SI"),
    (20, "AT|BA|EE|KZ|LT|LU|MN|XK"),
    (21, "CH|HR|LI|LV"),
    (22, "BG|BH|CR|DE|GB|GE|IE|ME|RS"),
    (23, "AE|GI|IL|IQ|OM|SO|TL"),
    (24, "AD|CZ|ES|MD|PK|RO|SA|SE|SK|TN|VG"),
    (25, "LY|PT|ST"),
    (26, "IS|TR"),
    (27, "BI|DJ|FR|GR|IT|MC|MR|SM"),
    (28, "AL|AZ|BY|CY|DO|GT|HU|LB|NI|PL|SV"),
    (29, "BR|EG|PS|QA|UA"),
    (30, "JO|KW|MU|YE"),
    (31, "MT|SC"),
    (32, "LC"),
    (33, "RU"),
];

/// In groups of four, with or without a space between them.
fn iban() -> Form {
    let space = r"[ \u{a0}\u{202f}]?";
    let country = |&(length, codes): &(usize, &str)| {
        let (groups, rest) = ((length - 4) / 4, (length - 4) % 4);
        let rest = if rest == 0 { String::new() } else { format!("{space}[0-9A-Z]{{{rest}}}") };
        format!("(?:{codes})[0-9]{{2}}(?:{space}[0-9A-Z]{{4}}){{{groups}}}{rest}")
    };
    let countries: Vec<String> = IBAN_COUNTRIES.iter().map(country).collect();
    Form::new(countries.join("|"), Left::NoDottedWord).checked(checks::iban)
}

/// Groups of four, or 4-6-5 and 4-6-4, each with or without a separator.
fn card() -> Form {
    let s = format!("{SEPARATOR}?");
    let fours = format!(
        "(?:4[0-9]{{3}}|5[0-8][0-9]{{2}}|6[0-9]{{3}}|35[2-8][0-9]|3[0689][0-9]{{2}}|2(?:20[0-4]|2[2-9][0-9]|[3-6][0-9]{{2}}|7[01][0-9]|720))\
         (?:{s}[0-9]{{4}}){{2}}{s}(?:[0-9]{{1,4}}|[0-9]{{4}}{s}[0-9]{{1,3}})"
    );
    let six = format!("3[0-9]{{3}}{s}[0-9]{{6}}{s}[0-9]{{4,5}}");
    Form::new(format!("{fours}|{six}"), Left::NoNumber).checked(checks::card)
}

/// Areas 000, 666 and 900 to 999 and all-zero groups were never issued.
fn ssn() -> Form {
    let area = "(?:00[1-9]|0[1-9][0-9]|[1-57-8][0-9]{2}|6(?:[0-57-9][0-9]|6[0-57-9]))";
    let serial = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})";
    let pattern = format!("{area}{SEPARATOR}(?:0[1-9]|[1-9][0-9]){SEPARATOR}{serial}");
    Form::new(pattern, Left::NoNumber).checked(checks::no_digit_follows)
}

fn phones() -> Vec<Form> {
    let s = SEPARATOR;
    let unit = format!(r"(?:{s}?[0-9]|{s}?\([0-9]{{1,5}}\))");
    let international = format!(r"\+[1-9]{unit}{{5,14}}");
    let dialled = format!("00[1-9]{unit}{{7,14}}");
    let american = format!(r"(?:1{s})?(?:\([2-9][0-9]{{2}}\){s}?|[2-9][0-9]{{2}}{s})[2-9][0-9]{{2}}{s}[0-9]{{4}}");
    let national = format!(
        r"(?:0[1-9][0-9]{{0,4}}(?:/|{s})|\(0[1-9][0-9]{{0,4}}\){s}?)[0-9]{{2,8}}(?:{s}[0-9]{{2,8}}){{0,4}}[ .-]?"
    );
    vec![
        Form::new(international, Left::NoDottedWord).checked(checks::phone_international),
        Form::new(dialled, Left::NoRow).checked(checks::phone_international),
        Form::new(american, Left::NoDottedWord).checked(checks::no_digit_follows),
        Form::new(national, Left::NoRow).checked(checks::phone_national),
    ]
}

fn ipv4() -> Form {
    let octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    Form::new(format!(r"(?:{octet}\.){{3}}{octet}\.?"), Left::NoDottedWord).checked(checks::ipv4)
}

/// Eight groups, or fewer around a `::`; the last two may be written as an IPv4 address.
fn ipv6() -> Form {
    let group = "[0-9A-Fa-f]{1,4}";
    let dotted = r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}";
    let whole = format!("(?:{group}:){{7}}{group}|(?:{group}:){{6}}{dotted}");
    let tail = format!("(?:{group}:){{0,6}}(?:{group}|{dotted})");
    let compressed = format!("(?:{group}(?::{group}){{0,6}})?::(?:{tail})?");
    Form::new(format!("{whole}|{compressed}"), Left::NoDottedWord).checked(checks::ipv6)
}
