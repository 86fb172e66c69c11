// SPDX-License-Identifier: Apache-2.0
//! The requests of a Read with the answers that have been fetched so far.

use tonic::Status;
use v1model::Pipeline;

use crate::budget::Charge;
use crate::failure::Failure;
use crate::footprint::Footprint;
use crate::heap::list;
use crate::pipeline_config::{PipelineConfig, lock};
use crate::read::{Answer, Part, Progress, Query, Source};
use crate::schema::Schema;
use crate::slice::Slice;

/// Requests, and those of their answers that have been fetched.
#[derive(Debug)]
pub struct Fetched {
    pub(super) queries: Vec<Result<Query, Failure>>,
    pub(super) answers: Vec<Result<Answer, Failure>>,
    /// The progress of the next request.
    progress: Progress,
    pub(super) charge: Charge,
    pub(super) now_ns: u64,
}

impl Fetched {
    /// Queries that have no answers yet. `charge` has their memory.
    pub(super) fn new(queries: Vec<Result<Query, Failure>>, charge: Charge) -> Self {
        Fetched {
            answers: Vec::new(),
            queries,
            progress: Progress::default(),
            charge,
            now_ns: 0,
        }
    }

    /// The objects that the queries read, and how much work that is, in units.
    pub(super) fn wish(&self, schema: &Schema) -> (Footprint, usize) {
        let queries = self.queries.iter().flatten();
        let none = (Footprint::NOTHING, 0_usize);
        queries.fold(none, |(uses, work), query| {
            let more = query.work(schema);
            (
                uses | Footprint::of_query(query, schema),
                work.saturating_add(more),
            )
        })
    }

    /// Fetches as much as fits into a slice, and returns whether there is more.
    pub(super) fn fetch(
        &mut self,
        pipeline: &Pipeline,
        config: &PipelineConfig,
        now_ns: u64,
        slice: &mut Slice,
    ) -> Result<bool, Status> {
        let notes = lock(&config.notes);
        self.now_ns = now_ns;
        let source = Source {
            schema: &config.schema,
            pipeline,
            notes: &notes,
        };
        while let Some(query) = self.queries.get(self.answers.len()) {
            let known = self.progress.parts.len();
            let answer = match query {
                Ok(query) => query.fetch(source, &mut self.progress, slice).transpose(),
                Err(failure) => Some(Err(failure.clone())),
            };
            // Only the new parts are charged here, whether the answer is complete or not.
            let parts = match &answer {
                Some(Ok(Answer::Parts(parts))) => &parts[known..],
                Some(Ok(Answer::Cells(values))) => {
                    self.charge.add(list(values))?;
                    &[]
                }
                Some(Err(_)) => &[],
                None => &self.progress.parts[known..],
            };
            self.charge.add(parts.iter().map(Part::bytes).sum())?;
            if answer.is_some() {
                self.charge.add(size_of::<Result<Answer, Failure>>())?;
            }
            let Some(answer) = answer else {
                return Ok(true);
            };
            let units = query.as_ref().map_or(1, Query::units);
            self.progress = Progress::default();
            self.answers.push(answer);
            if !slice.spend(units) {
                break;
            }
        }
        Ok(self.answers.len() < self.queries.len())
    }

    /// The queries with their answers.
    pub(super) fn answered(
        self,
    ) -> impl Iterator<Item = (Result<Query, Failure>, Result<Answer, Failure>)> {
        self.queries.into_iter().zip(self.answers)
    }
}
