//! `pass`: lines as they are.

use super::options::Common;
use crate::job_args::{BuildError, JobArgs};
use millstream::Env;

pub(super) fn build(env: &Env, args: &mut JobArgs) -> Result<(), BuildError> {
    let common: Common = args.options()?;
    common.validate(&env.config())?;
    common.write(common.lines(env), ".txt", args);
    Ok(())
}
