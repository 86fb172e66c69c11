// SPDX-License-Identifier: Apache-2.0
//! Actions with their parameters, from P4Runtime and back (specification 1.5, section 9.1.2): of
//! table entries and of action profiles' members.

use v1model::ActionCall;

use crate::bytestring;
use crate::failure::Failure;
use crate::proto::p4::v1 as p4;
use crate::schema::{Action, Scope};

/// Reads an action with its parameters. `of` names the object that uses it in errors, and `scope`
/// returns words if it cannot be used there.
///
/// # Errors
/// INVALID_ARGUMENT, PERMISSION_DENIED or OUT_OF_RANGE, naming action and parameter.
pub fn call(
    actions: &[Action],
    of: &dyn Fn() -> String,
    given: &p4::Action,
    scope: impl FnOnce(Scope) -> Option<&'static str>,
) -> Result<ActionCall, Failure> {
    let action = find_action(actions, of, given.action_id)?;
    if let Some(words) = scope(action.scope) {
        return Err(Failure::denied(format!(
            "{} has action {} {words}",
            of(),
            action.name
        )));
    }
    let place = |param: &dyn std::fmt::Display| {
        format!("{}, action {}, parameter {param}", of(), action.name)
    };
    for (n, param) in given.params.iter().enumerate() {
        let id = param.param_id;
        if !action.params.iter().any(|known| known.id == id) {
            return Err(Failure::invalid(format!(
                "{}: action {} has no parameter with id {id}",
                of(),
                action.name
            )));
        }
        if given.params[..n]
            .iter()
            .any(|earlier| earlier.param_id == id)
        {
            return Err(Failure::invalid(format!("{} is given twice", place(&id))));
        }
    }
    let args = action.params.iter().map(|param| {
        let given = given.params.iter().find(|given| given.param_id == param.id);
        let given =
            given.ok_or_else(|| Failure::invalid(format!("{} is missing", place(&param.name))))?;
        bytestring::decode(&given.value, param.limit).map_err(|error| {
            Failure::out_of_range(format!("{}: the value {error}", place(&param.name)))
        })
    });
    Ok(ActionCall {
        action: action.action,
        args: args.collect::<Result<_, Failure>>()?,
    })
}

/// An action by P4Info's id.
///
/// # Errors
/// INVALID_ARGUMENT: there is no such action.
pub fn find_action<'a>(
    actions: &'a [Action],
    of: &dyn Fn() -> String,
    id: u32,
) -> Result<&'a Action, Failure> {
    let action = actions.iter().find(|action| action.id == id);
    action.ok_or_else(|| Failure::invalid(format!("{} has no action with id {id}", of())))
}

/// Renders an action with its parameters; `None` for an action that P4Info does not have.
pub fn render_call(actions: &[Action], call: &ActionCall) -> Option<p4::Action> {
    let action = actions.iter().find(|action| action.action == call.action)?;
    let params = action.params.iter().zip(&call.args);
    let params = params.map(|(param, &value)| p4::action::Param {
        param_id: param.id,
        value: bytestring::encode(value),
    });
    Some(p4::Action {
        action_id: action.id,
        params: params.collect(),
    })
}
