//! Gives up the privileges of the helper before the command starts.

use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities,
    clear_ambient_capability_set, configure_capability_in_ambient_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits,
    set_no_new_privs,
};

use super::{SetupError, failed};

/// The privileges over owners and modes of files that programs of root take for granted, such as `tar` and `cp -a`.
const OF_ROOT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// The number of capabilities that a kernel may have. Numbers above the last one are refused, which ends the loop.
const MOST: u32 = 64;

/// Gives up all capabilities for good. A command of root retains those over owners and modes of files.
pub(super) fn give_up(is_root: bool) -> Result<(), SetupError> {
    let present = capabilities(None).map_err(failed("cannot read capabilities"))?;
    if present.permitted.is_empty() {
        // There is nothing to give up, and no right to lock it.
        return forbid_new();
    }
    let kept = if is_root {
        OF_ROOT & present.permitted
    } else {
        CapabilitySet::empty()
    };
    clear_ambient_capability_set().map_err(failed("cannot clear capabilities"))?;
    for number in 0..MOST {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if !kept.contains(one) && remove_capability_from_bounding_set(one).is_err() {
            break;
        }
    }
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED;
    set_capabilities_secure_bits(bits).map_err(failed("cannot lock privileges"))?;
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: kept,
    };
    set_capabilities(None, sets).map_err(failed("cannot give up capabilities"))?;
    for one in kept.iter() {
        configure_capability_in_ambient_set(one, true)
            .map_err(failed("cannot pass a capability on"))?;
    }
    forbid_new()
}

fn forbid_new() -> Result<(), SetupError> {
    set_no_new_privs(true).map_err(failed("cannot forbid new privileges"))
}
