//! Gathers what does not hold, so that one run says all of it.

/// How many failures are told in full.
const TOLD: usize = 30;

/// What went wrong in one way of one protocol.
#[derive(Debug, Default)]
pub(crate) struct Report {
    failures: Vec<String>,
    checked: usize,
}

impl Report {
    /// Takes note of one check. `what` names the stream and how it was fed.
    pub(crate) fn check(&mut self, what: &str, result: Result<(), String>) {
        self.checked += 1;
        if let Err(failure) = result {
            self.failures.push(format!("{what}: {failure}"));
        }
    }

    /// Fails with all that went wrong. A way in which nothing was tried says nothing.
    pub(crate) fn close(self) {
        assert!(self.checked > 0, "nothing was checked");
        let told: Vec<String> = self.failures.iter().take(TOLD).map(|failure| clip(failure)).collect();
        let (failed, checked) = (self.failures.len(), self.checked);
        assert!(self.failures.is_empty(), "{failed} of {checked} fail:\n- {}", told.join("\n- "));
    }
}

/// So much of a text as helps to find it.
pub(crate) fn clip(text: &str) -> String {
    const LONGEST: usize = 1_500;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST).chain("…".chars()).collect()
}
