// SPDX-License-Identifier: Apache-2.0
//! Combines observers: several as one, one that may be missing, and a borrowed one.

use mac_cmts::Heard;
use mac_modem::{Asked, Filled, Grant, How};
use mac_wire::{Map, Minislot, Request, Sid};

use crate::observer::Observer;

/// Tells all of `$to`, each an `Option`, what happens.
macro_rules! tells {
    ([$($of:ident),+] $type:ty, $all:ident => $($to:expr),+) => {
        impl<$($of: Observer),+> Observer for $type {
            fn map(&mut self, now: u64, map: &Map, body: &[u8]) {
                let $all = self;
                $(if let Some(one) = $to { one.map(now, map, body); })+
            }

            fn request(&mut self, now: u64, first: Minislot, request: &Request, how: How) {
                let $all = self;
                $(if let Some(one) = $to { one.request(now, first, request, how); })+
            }

            fn collision(&mut self, now: u64, first: Minislot, requests: &[Request]) {
                let $all = self;
                $(if let Some(one) = $to { one.collision(now, first, requests); })+
            }

            fn grant(&mut self, now: u64, sid: Sid, grant: &Grant) {
                let $all = self;
                $(if let Some(one) = $to { one.grant(now, sid, grant); })+
            }

            fn burst(
                &mut self,
                now: u64,
                sid: Sid,
                grant: &Grant,
                filled: &Filled,
                asked: Option<Asked>,
            ) {
                let $all = self;
                $(if let Some(one) = $to { one.burst(now, sid, grant, filled, asked); })+
            }

            fn heard(&mut self, now: u64, heard: &Heard) {
                let $all = self;
                $(if let Some(one) = $to { one.heard(now, heard); })+
            }
        }
    };
}

tells!([A, B] (A, B), both => Some(&mut both.0), Some(&mut both.1));
tells!([O] Option<O>, perhaps => perhaps.as_mut());
tells!([O] &mut O, one => Some(&mut **one));
