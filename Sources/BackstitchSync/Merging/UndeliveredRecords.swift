import BackstitchCore
package import BackstitchLog

/// Records that the service has and could not deliver: an error stood in their place on a page, or in
/// the answer to a look-up, or a full fetch did not list them and a look-up found them. So are those that
/// it delivered in a form that can't be stored. The feed was read past them, so a note in `meta` stands
/// for each, until
///
/// - two look-ups in a row say the same, because a replica that lags behind may have given one answer,
/// - a page has a later change or the end of the record, or the service takes a push of it,
/// - everything is fetched again.
///
/// Look-ups wait longer after each failure.
package struct UndeliveredRecords {
    let log: LogWriter

    /// The answer to a look-up of a record.
    enum Answer: UInt8 {
        /// Nothing.
        case failure
        /// The service has it.
        case found
        /// The service does not have it.
        case absent
    }

    /// The note of a record: when it is looked up next (8 bytes), the last answer (1), and how many
    /// look-ups there were, the page included (1).
    private struct Note {
        var dueMilliseconds: Int64 = 0
        var answer = Answer.failure
        var lookUps: UInt8 = 0

        init() {}

        init(_ value: [UInt8]) {
            guard value.count == 10 else { return }
            dueMilliseconds = value.bigEndian()
            answer = Answer(rawValue: value[8]) ?? .failure
            lookUps = value[9]
        }

        var bytes: [UInt8] { dueMilliseconds.bigEndianBytes + [answer.rawValue, lookUps] }
    }

    /// Notes that the service could not deliver a record.
    func note(_ error: ServiceError, of key: RecordKey, now: Int64) throws {
        try note(.failure, of: key, now: now, wait: Backoff.askedMilliseconds(error))
    }

    /// Notes that what the service delivered of a record can't be stored.
    func noteRejected(_ key: RecordKey, now: Int64) throws {
        try note(.failure, of: key, now: now)
    }

    /// Notes the answer to a look-up.
    ///
    /// - Parameter isNews: Whether the record was another one here before.
    /// - Returns: Whether it said the same as the one before. Then the note has gone.
    func settles(
        _ answer: Answer, of key: RecordKey, isNews: Bool, now: Int64
    ) throws -> Bool {
        if !isNews, let value = try log.noted(.undelivered, key), Note(value).answer == answer {
            try log.forgetNote(.undelivered, key)
            return true
        }
        try note(answer, of: key, now: now)
        return false
    }

    private func note(
        _ answer: Answer, of key: RecordKey, now: Int64, wait: Int64? = nil
    ) throws {
        // No record here has an impossible name.
        guard key.name.violation == nil else { return }
        var note = try log.noted(.undelivered, key).map { Note($0) } ?? Note()
        note.answer = answer
        note.lookUps = min(note.lookUps, UInt8.max - 1) + 1
        // A look-up of one record is little, and a clock that is put back makes no wait much longer.
        let wait = wait ?? Backoff.milliseconds(afterFailures: Int(note.lookUps))
        note.dueMilliseconds = now + min(wait, Backoff.longestMilliseconds)
        try log.note(.undelivered, key, note.bytes)
    }

    /// Forgets a record of which the feed has told since.
    func forget(_ key: RecordKey) throws {
        if key.name.violation == nil { try log.forgetNote(.undelivered, key) }
    }

    /// The records of a zone that are to be looked up by now, and when the next one is.
    static func due(
        _ reader: TableReader, in slot: UInt8, now: Int64, limit: Int
    ) throws -> (keys: [RecordKey], nextMilliseconds: Int64?) {
        var keys: [RecordKey] = []
        var next: Int64?
        try reader.meta.visitNotes(.undelivered, in: slot) { key, value in
            let due = Note(value).dueMilliseconds
            // A time that no wait leads to was noted by a clock that was put back since.
            if due <= now || due > now + Backoff.longestMilliseconds {
                keys.append(key)
            } else {
                next = min(next ?? due, due)
            }
            return keys.count < limit
        }
        return (keys, next)
    }

    /// How many records the service could not deliver so far, or not in a form that can be stored, or gave
    /// contradicting answers about.
    package static func count(_ reader: TableReader) throws -> Int {
        try reader.meta.countNotes(.undelivered)
    }
}
