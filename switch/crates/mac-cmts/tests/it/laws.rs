// SPDX-License-Identifier: Apache-2.0
//! What holds for any flows and any traffic.
