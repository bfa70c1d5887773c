//! An object of a message with its path, so that every error names the path. No error repeats a value.

use serde_json::{Map, Value};

use crate::error::OpenHarnessError;

/// The longest accepted name or id, in characters.
const LONGEST_NAME: usize = 256;

const TEXT: &str = "must be a string";
const OBJECT: &str = "must be an object";
const ARRAY: &str = "must be an array of objects";

/// An object and its path. A missing object has no members.
pub(crate) struct MessageObject<'a> {
    members: Option<&'a Map<String, Value>>,
    path: String,
}

impl<'a> MessageObject<'a> {
    pub(crate) fn root(message: &'a Value) -> Result<Self, OpenHarnessError> {
        Self::from_value(message, String::new())
    }

    fn from_value(value: &'a Value, path: String) -> Result<Self, OpenHarnessError> {
        match value {
            Value::Object(members) => Ok(Self {
                members: Some(members),
                path,
            }),
            _ => Err(invalid_field(&path, OBJECT)),
        }
    }

    /// Returns a missing member as an empty object.
    pub(crate) fn missing_member(&self, name: &str) -> Self {
        Self {
            members: None,
            path: self.member_path(name),
        }
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
        self.members
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.as_str(), value))
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.members?.get(name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns the error for a wrong member.
    pub(crate) fn wrong_member(&self, name: &str, problem: &'static str) -> OpenHarnessError {
        invalid_field(&self.member_path(name), problem)
    }

    fn member_path(&self, name: &str) -> String {
        let path = &self.path;
        match (path.is_empty(), name.contains('.')) {
            (true, _) => name.to_owned(),
            (false, true) => format!("{path}[\"{name}\"]"),
            (false, false) => format!("{path}.{name}"),
        }
    }

    /// Returns a member that is any text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>, OpenHarnessError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong_member(name, TEXT)),
        }
    }

    /// Returns a member that is a name; none if it is blank.
    pub(crate) fn name(&self, name: &str) -> Result<Option<String>, OpenHarnessError> {
        match self.text(name)?.filter(|text| !text.trim().is_empty()) {
            None => Ok(None),
            Some(text) if text.chars().count() <= LONGEST_NAME => Ok(Some(text.to_owned())),
            Some(_) => Err(self.wrong_member(name, "must have at most 256 characters")),
        }
    }

    /// Returns a member that is an id: missing, or a string that is not empty.
    pub(crate) fn id(&self, name: &str) -> Result<Option<String>, OpenHarnessError> {
        const ID: &str = "must be a string of 1 to 256 characters, or left out";
        match self.get(name) {
            None => Ok(None),
            Some(value) => match parse_id(value) {
                Some(id) => Ok(Some(id)),
                None => Err(self.wrong_member(name, ID)),
            },
        }
    }

    /// Returns a member that is a size.
    pub(crate) fn size(&self, name: &str) -> Result<Option<i64>, OpenHarnessError> {
        const SIZE: &str = "must be a whole number of bytes";
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        match (value.as_u64(), value.as_f64()) {
            (Some(size), _) => Ok(i64::try_from(size).ok()),
            // `4.0` is a whole number, too.
            (None, Some(size)) if size >= 0.0 && size.fract() == 0.0 => Ok(Some(size as i64)),
            _ => Err(self.wrong_member(name, SIZE)),
        }
    }

    /// Returns a member that is a boolean; false if it is missing.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, OpenHarnessError> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong_member(name, "must be true or false")),
        }
    }

    /// Returns a member that is an object.
    pub(crate) fn object(&self, name: &str) -> Result<Option<Self>, OpenHarnessError> {
        let member = self.get(name);
        member
            .map(|it| Self::from_value(it, self.member_path(name)))
            .transpose()
    }

    /// Returns a member that is an object in which these members are strings.
    pub(crate) fn object_with_texts(
        &self,
        name: &str,
        members: &[&str],
    ) -> Result<Option<Self>, OpenHarnessError> {
        let object = self.object(name)?;
        if let Some(object) = &object {
            for member in members {
                object.text(member)?;
            }
        }
        Ok(object)
    }

    /// Returns a member that is an array of objects.
    pub(crate) fn objects(&self, name: &str) -> Result<Vec<Self>, OpenHarnessError> {
        let items = match self.get(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.wrong_member(name, ARRAY)),
        };
        let path = self.member_path(name);
        let place = |(at, item)| Self::from_value(item, format!("{path}[{at}]"));
        items.iter().enumerate().map(place).collect()
    }

    /// Returns a member that is an object, or an array of objects.
    pub(crate) fn one_or_more(&self, name: &str) -> Result<Vec<Self>, OpenHarnessError> {
        match self.get(name) {
            Some(Value::Array(_)) => self.objects(name),
            _ => Ok(self.object(name)?.into_iter().collect()),
        }
    }
}

/// Returns the value if it is a valid id.
pub(super) fn parse_id(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let fits = (1..=LONGEST_NAME).contains(&text.chars().count());
    fits.then(|| text.to_owned())
}

fn invalid_field(path: &str, problem: &'static str) -> OpenHarnessError {
    let field = if path.is_empty() { "$" } else { path };
    OpenHarnessError::Invalid {
        field: field.to_owned(),
        problem,
    }
}
