// SPDX-License-Identifier: Apache-2.0
//! Frames are as long as DOCSIS counts them: to the end of the CRC, and 64 bytes at least.

use crate::common::modem::{CPE, DOCSIS_PIE, Flow, MAX_PACKET, Modem, ONE, SERVER, START};

/// What an interface shows of a frame, and what DOCSIS counts.
const LENGTHS: [(usize, u32); 8] = [
    (14, 64),
    (46, 64),
    (59, 64),
    (60, 64),
    (61, 65),
    (218, 222),
    (1514, 1518),
    (1518, 1522),
];

/// A frame of no protocol that anybody knows, of so many bytes on an interface.
fn captured(length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    frame[..6].copy_from_slice(&SERVER.to_be_bytes()[2..]);
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame
}

fn pass(modem: &mut Modem, length: usize) {
    modem.device.receive(START, CPE, &captured(length));
    modem.device.poll(START, &mut modem.out);
}

#[test]
fn both_halves_count_what_docsis_counts() {
    for (length, counted) in LENGTHS {
        let mut modem = Modem::new(&Flow::default());
        pass(&mut modem, length);
        assert_eq!(modem.out.sent.len(), 1);
        assert_eq!(
            modem.state("sf_enqueued_bytes"),
            u64::from(counted),
            "{length}"
        );
        assert_eq!(
            modem.state("sf_dequeued_bytes"),
            u64::from(counted),
            "{length}"
        );
        // The frame itself and v1model's counters are as they were.
        assert_eq!(modem.out.sent[0].1, captured(length));
    }
}

#[test]
fn the_buffer_and_the_longest_frame_count_the_crc() {
    for (length, counted) in LENGTHS {
        for (room, fits) in [(counted, 1), (counted - 1, 0)] {
            let mut modem = Modem::new(&Flow {
                buffer_size: room,
                ..Flow::default()
            });
            pass(&mut modem, length);
            assert_eq!(modem.out.sent.len(), fits, "{length} into {room}");
            assert_eq!(modem.count("sf_drop_buffer_full"), 1 - fits as u64);
        }
    }
    let mut modem = Modem::new(&Flow::default());
    pass(&mut modem, MAX_PACKET - 3);
    assert_eq!(modem.count("sf_drop_policed"), 1);
    pass(&mut modem, MAX_PACKET - 4);
    assert_eq!(modem.count("sf_drop_policed"), 1);
}

#[test]
fn tokens_and_drops_by_size_count_the_crc() {
    for (length, counted) in LENGTHS {
        let mut modem = Modem::new(&Flow {
            manager: DOCSIS_PIE,
            ..Flow::default()
        });
        let bucket = [("max_sustained_rate", 0), ("max_burst", 10_000)];
        modem.parameters("token_bucket.msr_bucket", "set_bucket", &bucket);
        modem.set_state("msr_tokens", 10_000 * 8_000_000);
        modem.set_register("controller_heartbeat", 0, 1);
        modem.set_state("aqm_drop_prob", ONE / 1024);
        modem.set_state("aqm_control_state", 2);
        pass(&mut modem, length);
        let left = (10_000 - u64::from(counted)) * 8_000_000;
        assert_eq!(modem.state("msr_tokens"), left, "{length}");
        let p1 = (ONE / 1024 * u64::from(counted)) >> 10;
        assert_eq!(modem.state("aqm_accu_prob"), p1, "{length}");
    }
}
