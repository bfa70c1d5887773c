//! Finds the folders of skills outside of workspaces, from the environment of the process.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use harn_tools::skills::SkillPlaces;

use crate::{
    default_config_dir,
    options::{home_dir, read_env_var},
};

/// The variable with folders of skills.
const VARIABLE: &str = "HARN_SKILLS_PATH";
/// The skills of the machine's administrator.
const SYSTEM: &str = "/etc/harn/skills";

/// Returns the skill folders of this process, and the `named` ones of its command line.
pub(crate) fn skill_places(named: Vec<PathBuf>) -> SkillPlaces {
    let config = default_config_dir();
    collect_skill_places(read_env_var, home_dir(), named, config.as_deref())
}

fn collect_skill_places(
    var: impl Fn(&str) -> Option<OsString>,
    home: Option<PathBuf>,
    named: Vec<PathBuf>,
    config: Option<&Path>,
) -> SkillPlaces {
    // A path must mean the same folder in each working directory. `absolute` fails on an empty path, which drops it.
    let absolute = |path: PathBuf| std::path::absolute(path).ok();
    let env = var(VARIABLE).unwrap_or_default();
    let system = [
        Some(PathBuf::from(SYSTEM)),
        config.map(|dir| dir.join("skills")),
    ];
    SkillPlaces {
        cli: named.into_iter().filter_map(absolute).collect(),
        env: std::env::split_paths(&env).filter_map(absolute).collect(),
        user: home.as_ref().map(|home| home.join(".harn/skills")),
        system: system.into_iter().flatten().collect(),
        home,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn skill_folders_are_read_from_the_environment() {
        let var = |name: &str| match name {
            VARIABLE => Some("/a::/b".into()),
            _ => None,
        };
        let home = Some("/home/ada".into());
        let places =
            collect_skill_places(var, home, vec!["/named".into()], Some(Path::new("/cfg")));
        assert_eq!(places.cli, [Path::new("/named")]);
        assert_eq!(places.env, [Path::new("/a"), Path::new("/b")]);
        assert_eq!(
            places.user.as_deref(),
            Some(Path::new("/home/ada/.harn/skills"))
        );
        assert_eq!(places.system, [Path::new(SYSTEM), Path::new("/cfg/skills")]);
        assert_eq!(places.home.as_deref(), Some(Path::new("/home/ada")));
        let nothing = collect_skill_places(|_| None, None, Vec::new(), None);
        assert_eq!((nothing.user, nothing.env.len()), (None, 0));
    }
}
