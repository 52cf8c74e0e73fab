//! The kinds of value that sections share. Each answers `None` after it recorded what is wrong and what is allowed.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use seam_plugin_api::is_name;

use super::table::{Value, nearest, shown};

/// A length of time: a string such as `"30s"`.
pub(super) fn duration(value: &Value<'_>, allowed: RangeInclusive<Duration>) -> Option<Duration> {
    let text = value.text("a duration such as \"30s\"")?;
    let Ok(duration) = humantime::parse_duration(text) else {
        return value.reject(format!(
            "is {}, which is not a duration; write a number and a unit, such as \"30s\" or \"250ms\"",
            shown(text)
        ));
    };
    if allowed.contains(&duration) {
        return Some(duration);
    }
    let (least, most) = (human(*allowed.start()), human(*allowed.end()));
    value.reject(format!("is {}; it must be from {least} to {most}", shown(text)))
}

/// A number of bytes: a string such as `"16MiB"`.
pub(super) fn size(value: &Value<'_>, allowed: RangeInclusive<usize>) -> Option<usize> {
    let text = value.text("a size such as \"16MiB\"")?;
    let Ok(size) = text.parse::<ByteSize>() else {
        return value.reject(format!(
            "is {}, which is not a size; write a number and a unit, such as \"16MiB\" or \"64KB\"",
            shown(text)
        ));
    };
    let bytes = usize::try_from(size.as_u64()).ok().filter(|bytes| allowed.contains(bytes));
    bytes.or_else(|| {
        let (least, most) = (iec(*allowed.start()), iec(*allowed.end()));
        value.reject(format!("is {}; it must be from {least} to {most}", shown(text)))
    })
}

/// A count.
pub(super) fn count(value: &Value<'_>, allowed: RangeInclusive<usize>) -> Option<usize> {
    let number = value.integer()?;
    let count = usize::try_from(number).ok().filter(|count| allowed.contains(count));
    count.or_else(|| {
        let (least, most) = (allowed.start(), allowed.end());
        value.reject(format!("is {number}; it must be from {least} to {most}"))
    })
}

/// One of the named choices.
pub(super) fn choice<T: Copy>(value: &Value<'_>, choices: &[(&'static str, T)]) -> Option<T> {
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    let listed = listed(&names);
    let text = value.text(&listed)?;
    let chosen = choices.iter().find(|(name, _)| *name == text);
    chosen
        .map(|(_, choice)| *choice)
        .or_else(|| value.reject(format!("is {}; it must be {listed}{}", shown(text), meant(text, &names))))
}

/// A socket address.
pub(super) fn socket_address(value: &Value<'_>) -> Option<SocketAddr> {
    let text = value.text("an address and a port such as \"127.0.0.1:8080\"")?;
    text.parse().ok().or_else(|| {
        value.reject(format!(
            "is {}, which is not an address and a port; write one such as \"127.0.0.1:8080\" or \"[::1]:8080\"",
            shown(text)
        ))
    })
}

/// A path, made absolute against the folder of the TOML.
pub(super) fn path(value: &Value<'_>) -> Option<PathBuf> {
    let text = value.text("a path")?;
    if text.is_empty() || text.contains('\0') {
        return value.reject(format!("is {}, which is not a path", shown(text)));
    }
    Some(value.resolve(text))
}

/// A string with something in it, of which `what` says what it stands for.
pub(super) fn words(value: &Value<'_>, what: &str) -> Option<String> {
    let text = value.text(what)?;
    if text.is_empty() || text.contains('\0') {
        return value.reject(format!("is {}; it must be {what}", shown(text)));
    }
    Some(text.to_owned())
}

/// The name of a provider or a plugin, as [`is_name`] has it, so that it can stand in logs, labels and URLs as it is.
pub(super) fn name(value: &Value<'_>) -> Option<String> {
    let text = value.text("a name")?;
    if is_name(text) {
        return Some(text.to_owned());
    }
    value.reject(format!(
        "is {}; it must be 1 to 64 of a-z, 0-9, \"_\", \".\" and \"-\", and start with a letter or digit",
        shown(text)
    ))
}

/// What has been named so far, and where, in a list whose entries must differ.
#[derive(Default)]
pub(super) struct Unique(HashMap<String, Range<usize>>);

impl Unique {
    /// Where `name` was given before, if it was; otherwise it is given at `span` from now on.
    pub(super) fn earlier(&mut self, name: &str, span: Range<usize>) -> Option<Range<usize>> {
        let earlier = self.0.get(name).cloned();
        if earlier.is_none() {
            self.0.insert(name.to_owned(), span);
        }
        earlier
    }

    /// Records a fault at `value` if `name` was given before; `what` says what the name is of.
    pub(super) fn claim(&mut self, value: &Value<'_>, name: &str, what: &str) {
        if let Some(earlier) = self.earlier(name, value.span()) {
            let message = format!("is {}, which is taken; {what} must be unique", shown(name));
            value.reject_beside::<()>(message, earlier, "first given here");
        }
    }
}

/// `; did you mean` the candidate nearest to `text`; empty when none is near.
pub(super) fn meant(text: &str, candidates: &[&str]) -> String {
    nearest(text, candidates).map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default()
}

/// `"a"`, `"a" or "b"`, `"a", "b" or "c"`.
pub(super) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

fn human(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

fn iec(bytes: usize) -> String {
    // As it would be written in the file: without a space, and without a fraction that is none.
    ByteSize::b(bytes as u64).display().iec().to_string().replace(".0 ", "").replace(' ', "")
}
