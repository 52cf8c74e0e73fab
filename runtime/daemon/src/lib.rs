//! A daemon between programs and language-model providers that runs every streamed chunk through native plugins.
