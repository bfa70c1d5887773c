//! Streams that break, fall behind and continue.

use super::*;

fn id(text: &str) -> EventId {
    text.parse().unwrap()
}

/// A mailbox of a session whose events each become one line, and a client that reads it.
#[derive(Default)]
struct MailboxFixture {
    mailbox: Mailbox,
    /// The follow that writes the events.
    stream: Option<FollowId>,
}

impl MailboxFixture {
    fn push_events(&mut self, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            let line = format!("e{number}").into();
            self.mailbox
                .push_event(self.stream, Seq(number).into(), line);
        }
    }

    fn push_answer(&mut self, line: &'static str) {
        let said_anew = false;
        let line = line.into();
        self.mailbox
            .push_other(None, NonEventLine { line, said_anew });
    }

    /// Returns all lines that can be sent, with their ids.
    fn drain_frames(&mut self) -> Vec<String> {
        let frames = std::iter::from_fn(|| self.mailbox.next());
        let show = |frame: SseFrame| {
            let line = str::from_utf8(&frame.line).unwrap().to_owned();
            format!("{}={line}", frame.place)
        };
        frames.map(show).collect()
    }

    fn resume(&mut self, after: &str) -> Result<(), CannotResume> {
        self.mailbox.resume(after.parse().unwrap())
    }

    /// Follows the session again if that is needed; returns after which event.
    fn refollow(&mut self) -> Option<String> {
        let (refollow, _) = self.mailbox.refollow(&"s".into())?;
        self.stream = Some(refollow.follow_id());
        Some(refollow.after.to_string())
    }

    fn mark_caught_up(&mut self) {
        self.mailbox.mark_caught_up(self.stream);
    }
}

#[test]
fn lines_are_sent_in_order_with_their_frame_ids() {
    let mut desk = MailboxFixture::default();
    desk.push_answer("a");
    desk.push_events(1..=2);
    desk.push_answer("b");
    desk.push_answer("c");
    desk.push_events([3]);
    assert_eq!(
        desk.drain_frames(),
        ["0+1=a", "1=e1", "2=e2", "2+2=b", "2+3=c", "3=e3"]
    );
    assert_eq!(desk.refollow(), None);
}

#[test]
fn lost_lines_are_sent_again_in_their_position() {
    let mut desk = MailboxFixture::default();
    desk.push_events(1..=3);
    desk.push_answer("a");
    desk.push_events(4..=5);
    desk.push_answer("b");
    assert_eq!(desk.drain_frames().len(), 7);
    desk.push_events([6]);
    desk.push_answer("c");
    // The client received only the first two.
    desk.resume("2").unwrap();
    assert_eq!(desk.drain_frames(), [""; 0]);
    desk.push_answer("d");
    assert_eq!(desk.refollow().as_deref(), Some("2"));
    desk.push_events(3..=4);
    assert_eq!(desk.drain_frames(), ["3=e3", "3+1=a", "4=e4"]);
    desk.push_events(5..=7);
    desk.mark_caught_up();
    desk.push_answer("e");
    desk.push_events([8]);
    assert_eq!(
        desk.drain_frames(),
        [
            "5=e5", "5+2=b", "6=e6", "6+3=c", "6+4=d", "7=e7", "7+5=e", "8=e8"
        ]
    );
}

#[test]
fn lost_answers_are_sent_again_without_a_refollow() {
    let mut desk = MailboxFixture::default();
    desk.push_events([1]);
    desk.push_answer("a");
    desk.push_answer("b");
    desk.drain_frames();
    desk.push_events([2]);
    desk.resume("1+1").unwrap();
    assert_eq!(desk.refollow(), None);
    assert_eq!(desk.drain_frames(), ["1+2=b", "2=e2"]);
}

#[test]
fn answer_behind_a_skipped_event_is_sent_again() {
    let mut desk = MailboxFixture::default();
    desk.push_events(1..=3);
    desk.push_answer("a");
    desk.drain_frames();
    desk.resume("1").unwrap();
    desk.refollow().unwrap();
    // The third event was a question that has its answer by now.
    desk.push_events([2]);
    assert_eq!(desk.drain_frames(), ["2=e2"]);
    desk.mark_caught_up();
    assert_eq!(desk.drain_frames(), ["3+1=a"]);
    // A client that received it continues behind it.
    desk.resume("3+1").unwrap();
    assert_eq!(desk.refollow().as_deref(), Some("3"));
    desk.mark_caught_up();
    assert_eq!(desk.drain_frames(), [""; 0]);
}

#[test]
fn lines_of_an_earlier_follow_are_dropped() {
    let mut desk = MailboxFixture {
        stream: Some(FollowId::next_id()),
        ..MailboxFixture::default()
    };
    desk.push_events(1..=3);
    desk.drain_frames();
    desk.resume("1").unwrap();
    let earlier = desk.stream;
    desk.refollow().unwrap();
    let anew = std::mem::replace(&mut desk.stream, earlier);
    desk.push_events(4..=5);
    desk.mark_caught_up();
    assert_eq!(desk.drain_frames(), [""; 0]);
    desk.stream = anew;
    desk.push_events(2..=5);
    assert_eq!(desk.drain_frames(), ["2=e2", "3=e3", "4=e4", "5=e5"]);
}

#[test]
fn stream_without_a_reader_is_bounded_and_resumes() {
    let mut desk = MailboxFixture::default();
    let line = Bytes::from(vec![b'x'; WAITING_BYTES / 4]);
    desk.push_events(10..=11);
    for number in 12..30 {
        desk.mailbox
            .push_event(None, Seq(number).into(), line.clone());
    }
    desk.push_answer("a");
    assert!(desk.mailbox.waiting_bytes + desk.mailbox.placed_bytes < WAITING_BYTES);
    assert!(desk.mailbox.can_take_event(), "and costs nothing");
    assert_eq!(desk.refollow().as_deref(), Some("9"), "from its beginning");
    desk.push_events(10..=29);
    desk.mark_caught_up();
    let sent = desk.drain_frames();
    assert_eq!(sent.len(), 21);
    assert_eq!(sent[20], "29+1=a");
}

#[test]
fn full_mailbox_takes_no_answer() {
    let mut desk = MailboxFixture::default();
    let line = Bytes::from(vec![b'x'; WAITING_BYTES]);
    let other = NonEventLine {
        line,
        said_anew: false,
    };
    assert!(desk.mailbox.can_take_other());
    desk.mailbox.push_other(None, other.clone());
    desk.mailbox.push_other(None, other);
    assert!(!desk.mailbox.can_take_other());
    desk.mailbox.next().unwrap();
    assert!(desk.mailbox.can_take_other());
}

#[test]
fn open_questions_are_not_sent_twice() {
    let mut desk = MailboxFixture::default();
    desk.push_events(1..=2);
    let question = NonEventLine {
        line: "question".into(),
        said_anew: true,
    };
    desk.mailbox.push_other(None, question);
    desk.drain_frames();
    desk.resume("2").unwrap();
    assert_eq!(desk.refollow(), None);
    assert_eq!(desk.drain_frames(), ["2+1=question"], "nobody asks it anew");
    desk.resume("1").unwrap();
    desk.refollow().unwrap();
    desk.push_events([2]);
    desk.mark_caught_up();
    assert_eq!(desk.drain_frames(), ["2=e2"]);
}

#[test]
fn resume_rejects_unknown_and_forgotten_frame_ids() {
    let mut desk = MailboxFixture::default();
    desk.push_events(1..=2);
    for unknown in ["3", "2+1", "17.0"] {
        assert_eq!(
            desk.resume(unknown),
            Err(CannotResume::Unknown),
            "{unknown}"
        );
    }
    desk.drain_frames();
    for _ in 0..=KEPT_LINES {
        desk.push_answer("a");
    }
    assert_eq!(desk.drain_frames().len(), KEPT_LINES + 1);
    assert_eq!(desk.resume("1"), Err(CannotResume::TooFarBack));
    assert_eq!(desk.resume("2"), Err(CannotResume::TooFarBack));
    desk.resume("2+1").unwrap();
    assert_eq!(desk.drain_frames().len(), KEPT_LINES);
}

#[test]
fn a_line_keeps_its_number_however_often_it_is_sent() {
    let mut desk = MailboxFixture::default();
    desk.push_events(1..=2);
    desk.push_answer("a");
    desk.push_answer("b");
    assert_eq!(desk.drain_frames().last().unwrap(), "2+2=b");
    // A delayed request asks for lines that its client has received since.
    desk.resume("1").unwrap();
    desk.refollow().unwrap();
    desk.push_events([2]);
    desk.mark_caught_up();
    assert_eq!(desk.drain_frames(), ["2=e2", "2+1=a", "2+2=b"]);
    desk.push_answer("c");
    desk.resume("2+2").unwrap();
    assert_eq!(desk.drain_frames(), ["2+3=c"]);
}

#[test]
fn late_request_does_not_repeat_received_lines() {
    let mut desk = MailboxFixture::default();
    desk.push_events(1..=2);
    desk.push_answer("a");
    desk.push_events(3..=4);
    desk.push_answer("b");
    desk.drain_frames();
    desk.resume("1").unwrap();
    desk.refollow().unwrap();
    desk.push_events([2]);
    assert_eq!(desk.drain_frames(), ["2=e2", "2+1=a"]);
    desk.resume("1").unwrap();
    desk.resume("3").unwrap();
    assert_eq!(desk.refollow().as_deref(), Some("3"));
    desk.push_events([4]);
    desk.mark_caught_up();
    assert_eq!(desk.drain_frames(), ["4=e4", "4+2=b"]);
    // The lines that it had received are still there for another client.
    desk.resume("2").unwrap();
    desk.refollow().unwrap();
    desk.push_events(3..=4);
    desk.mark_caught_up();
    assert_eq!(desk.drain_frames(), ["2+1=a", "3=e3", "4=e4", "4+2=b"]);
}

#[test]
fn new_line_does_not_overtake_a_line_of_a_skipped_event() {
    let mut desk = MailboxFixture::default();
    desk.push_events(1..=3);
    desk.push_answer("a");
    desk.drain_frames();
    desk.resume("1").unwrap();
    desk.refollow().unwrap();
    desk.push_events([2]);
    desk.mark_caught_up();
    desk.push_answer("b");
    // None of that was sent when the stream broke again.
    desk.resume("0").unwrap();
    desk.refollow().unwrap();
    desk.push_events(1..=2);
    desk.mark_caught_up();
    assert_eq!(desk.drain_frames(), ["1=e1", "2=e2", "3+1=a", "3+2=b"]);
}

#[test]
fn stream_resumes_before_its_first_event() {
    let mut desk = MailboxFixture::default();
    desk.push_events(94..=95);
    desk.push_answer("a");
    desk.drain_frames();
    desk.resume("5").unwrap();
    assert_eq!(desk.refollow().as_deref(), Some("5"));
    desk.push_events(6..=7);
    assert_eq!(desk.drain_frames(), ["6=e6", "7=e7"]);
    // Again, when it falls behind before anything is sent.
    desk.resume("5").unwrap();
    assert_eq!(desk.refollow().as_deref(), Some("5"));
    desk.push_events(6..=95);
    desk.mark_caught_up();
    let sent = desk.drain_frames();
    assert_eq!((sent.len(), &*sent[90]), (91, "95+1=a"));
}

#[test]
fn frame_ids_are_parsed_as_written() {
    for text in ["0", "17", "17.1", "17.1+3", "0+1"] {
        assert_eq!(text.parse::<SseFrameId>().unwrap().to_string(), text);
    }
    for odd in [
        "", "+1", "17+", "17+0", "17+01", "17+-1", "17 3", "x", "17+3+4",
    ] {
        assert!(odd.parse::<SseFrameId>().is_err(), "{odd}");
    }
    assert!(id("17.1") < id("17"));
}
