//! Upper-cases what is said inside the string values of a JSON text that arrives in fragments: never a name, a number or
//! an escape. Text that is no JSON comes out in some way that is always the same.

/// Where in the JSON the last fragment ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Upper {
    /// The containers that are open: whether each is an object.
    open: Vec<bool>,
    /// Inside a string, and whether that is a value.
    string: Option<bool>,
    /// How much of an escape is still to come.
    escape: Escape,
    /// The next string of the object is a value.
    after_colon: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    Begun,
    Hex(u8),
}

impl Upper {
    /// The whole text at once.
    pub(crate) fn whole(text: &str) -> String {
        Self::default().fragment(text)
    }

    pub(crate) fn fragment(&mut self, text: &str) -> String {
        text.chars().map(|character| self.character(character)).collect()
    }

    fn character(&mut self, character: char) -> char {
        match self.string {
            Some(is_value) => self.in_string(character, is_value),
            None => {
                self.between(character);
                character
            }
        }
    }

    fn in_string(&mut self, character: char, is_value: bool) -> char {
        match (self.escape, character) {
            (Escape::Hex(left), _) => self.escape = if left > 1 { Escape::Hex(left - 1) } else { Escape::None },
            (Escape::Begun, 'u') => self.escape = Escape::Hex(4),
            (Escape::Begun, _) => self.escape = Escape::None,
            (Escape::None, '\\') => self.escape = Escape::Begun,
            (Escape::None, '"') => self.string = None,
            (Escape::None, _) if is_value => return character.to_ascii_uppercase(),
            (Escape::None, _) => {}
        }
        character
    }

    fn between(&mut self, character: char) {
        match character {
            '"' => self.string = Some(self.after_colon || self.open.last() != Some(&true)),
            ':' => self.after_colon = true,
            ',' => self.after_colon = false,
            '{' | '[' => {
                self.open.push(character == '{');
                self.after_colon = false;
            }
            '}' | ']' => {
                self.open.pop();
                self.after_colon = false;
            }
            _ => {}
        }
    }
}

#[test]
fn only_what_string_values_say_is_upper_cased() {
    let text = r#"{"key":"a\n\u00e9b","list":["x",{"in":"y"}],"n":true,"deep":{"k":"v"},"last":"z"}"#;
    let upper = r#"{"key":"A\n\u00e9B","list":["X",{"in":"Y"}],"n":true,"deep":{"k":"V"},"last":"Z"}"#;
    assert_eq!(Upper::whole(text), upper);
    for cut in 0..text.len() {
        let mut cased = Upper::default();
        assert_eq!([cased.fragment(&text[..cut]), cased.fragment(&text[cut..])].concat(), upper, "cut at {cut}");
    }
}
