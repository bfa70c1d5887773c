//! Where ten paths lead, on the real disk. The floor resolves each with the system.

use std::{fs, hint::black_box};

use anyhow::{Result, ensure};
use harn_policy::{PathScope, SessionRoots, locate_all};
use harn_tools::DiskProbe;

use super::time_alternating;
use crate::{
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

pub(super) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let root = setup.cwd().canonicalize()?;
    let folder = root.join("located/src/module");
    fs::create_dir_all(&folder)?;
    let mut names = Vec::new();
    for place in 0..10 {
        fs::write(folder.join(format!("file-{place}.rs")), "x")?;
        names.push(format!("located/src/module/file-{place}.rs"));
    }
    let roots = SessionRoots::new(vec![root.clone()], Vec::new());
    let located = locate_all(&roots, &names, &DiskProbe);
    let inside = located.iter().all(|one| one.standing == PathScope::Inside);
    ensure!(inside && located.len() == 10, "{located:?}");
    let [floor, ours] = time_alternating(
        setup.judgements,
        [
            &mut || {
                for name in &names {
                    // Cannot fail for files that were just created.
                    drop(black_box(root.join(name).canonicalize()));
                }
            },
            &mut || drop(black_box(locate_all(&roots, black_box(&names), &DiskProbe))),
        ],
    );
    table.add(&Figure {
        name: "to find where 10 paths lead".to_owned(),
        unit: Unit::Micros,
        value: ours,
        against: Some(("realpath", floor)),
        bar: Bar::Told,
    });
    Ok(())
}
