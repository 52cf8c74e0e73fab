//! Redacts personal data and secrets from answers while they stream.
