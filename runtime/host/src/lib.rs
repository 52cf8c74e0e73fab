//! Plugins in this process: digest, static inspection, load, generations.
