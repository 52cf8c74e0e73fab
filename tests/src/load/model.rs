//! What the source is asked for by the name of the model.

use std::time::Duration;

/// The shape of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `fake`: `max_tokens` chunks as fast as they are taken.
    Saturated {
        /// How many chunks.
        chunks: u64,
    },
    /// `fake-<N>x<D>ms`: so many chunks, one each period.
    Paced {
        /// How many chunks.
        chunks: u64,
        /// The time between two.
        period: Duration,
    },
    /// `fake-mute`: no answer at all, not even a head.
    Mute,
}

impl Shape {
    /// The shape that a model's name asks for; `max_tokens` is the request's own. Unknown names are as `fake`.
    #[must_use]
    pub fn of(model: &str, max_tokens: u64) -> Self {
        if model.ends_with("fake-mute") {
            return Self::Mute;
        }
        paced(model).unwrap_or(Self::Saturated { chunks: max_tokens })
    }

    /// How many chunks of text it has.
    #[must_use]
    pub fn chunks(self) -> u64 {
        match self {
            Self::Saturated { chunks } | Self::Paced { chunks, .. } => chunks,
            Self::Mute => 0,
        }
    }
}

fn paced(model: &str) -> Option<Shape> {
    let (_, shape) = model.rsplit_once("fake-")?;
    let (chunks, millis) = shape.strip_suffix("ms")?.split_once('x')?;
    let seconds = millis.parse::<f64>().ok()? / 1e3;
    Some(Shape::Paced { chunks: chunks.parse().ok()?, period: Duration::try_from_secs_f64(seconds).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_models_name_says_the_shape() {
        assert_eq!(Shape::of("fake", 7), Shape::Saturated { chunks: 7 });
        assert_eq!(Shape::of("fake-mute", 7), Shape::Mute);
        let paced = Shape::Paced { chunks: 100, period: Duration::from_micros(2500) };
        assert_eq!(Shape::of("fake-100x2.5ms", 7), paced);
        assert_eq!(Shape::of("fake-100x-1ms", 7), Shape::Saturated { chunks: 7 });
    }
}
