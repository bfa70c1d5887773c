//! Front matter as people write it, and what is said of it.

use expect_test::{Expect, expect};
use harn_model::McpTransport;
use serde_json::json;

use super::*;
use crate::skills::front::split;
