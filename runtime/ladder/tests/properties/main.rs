//! The ladder against a naive model of the contract: over random ladders, scripts and streams, and rule by rule.

#![expect(clippy::unwrap_used, reason = "a test that can't be set up has failed")]

mod drive;
mod model;
mod rules;
mod script;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// Everything that is shown to observers and everything that comes out, in order; the sentinel; the accounts.
    #[test]
    fn the_ladder_does_what_the_contract_says(case in script::case()) {
        prop_assert_eq!(drive::run(&case), model::run(&case));
    }
}
