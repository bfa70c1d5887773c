//! Addresses that no lock file may contain: each machine decides where its packages are downloaded from.

use crate::repo::File;

/// By default, npm's lock files contain the address of each package. Split, so that this file passes its own check.
const ADDRESS: &str = concat!("\"resol", "ved\": \"http");

/// Checks that no file names the address of a package.
pub(super) fn check_addresses(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files {
        for (index, line) in file.text.lines().enumerate() {
            if line.contains(ADDRESS) {
                problems.push(format!(
                    "{}:{}: a package's address; make the lock with omit-lockfile-registry-resolved",
                    file.path,
                    index + 1
                ));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    #[test]
    fn an_address_is_found() {
        let lock = format!("{{\n  {ADDRESS}s://example.org/a.tgz\"\n}}\n");
        let problems = check_addresses(&[file("peers/a/package-lock.json", &lock)]);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("peers/a/package-lock.json:2: "));
        assert!(check_addresses(&[file("a", "resolved: http")]).is_empty());
    }
}
