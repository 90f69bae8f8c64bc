import CloudKitWire
import WireCrypto

/// Writes once for a call that comes again, by its name or by its signature.
struct IdempotentWriter: Sendable {
    let configuration: HubConfiguration
    let storage: any HubStorage
    let index: LedgerIndex
    let metrics: HubMetrics

    /// Where the answer to a call is kept for the case that the call comes again.
    func ledger(for call: HubCall, _ access: DatabaseAccess) -> AnswerLedger {
        var entries: [AnswerLedger.Entry] = []
        let now = configuration.now
        if let id = call.requestID, (1...128).contains(id.utf8.count),
            call.extensions.contains(.requestID), call.path.endpoint == .modifyRecords
        {
            let name =
                Array(access.name.key.behindPartition) + [0] + (access.author ?? "").utf8 + [0]
                + id.utf8
            entries.append(
                AnswerLedger.Entry(
                    kind: .name, identity: Digest.sha256(Array(name)),
                    requestHash: Digest.sha256(call.body),
                    end: now + configuration.limits.ledgerMilliseconds))
        }
        if let signed = call.authentication.signed {
            entries.append(
                AnswerLedger.Entry(
                    kind: .signature, identity: signed.identity, requestHash: signed.messageHash,
                    end: signed.end))
        }
        let isNamed = entries.contains { $0.kind == .name }
        return AnswerLedger(
            partition: access.partition, entries: entries, now: now,
            bytesMax: configuration.limits.ledgerBytes,
            ended: isNamed ? endedAnswers(access, now: now) : [])
    }

    /// The answers of a user that have to go, so that there is room for another one.
    private func endedAnswers(_ access: DatabaseAccess, now: Int64) -> [HubKey] {
        index.excess(
            of: access.partition, room: AnswerLedger.answerBytesMax,
            bytesMax: configuration.limits.ledgerBytesPerUser, now: now)
    }

    /// Notes that an answer was kept, and that others ended for it.
    func note(_ answer: [UInt8], in ledger: AnswerLedger) {
        index.forget(ledger.ended, of: ledger.partition)
        guard let key = ledger.nameKey else { return }
        index.note(
            key, of: ledger.partition,
            bytes: min(answer.count, AnswerLedger.answerBytesMax) + AnswerLedger.entryBytes,
            until: ledger.now + configuration.limits.ledgerMilliseconds, now: ledger.now)
    }

    /// Writes once: a call whose signature came before gets its first answer, and nothing else
    /// happens.
    ///
    /// - Parameters:
    ///   - queries: What `body` reads.
    ///   - body: Writes, and makes the body of the answer.
    func write(
        _ call: HubCall, _ access: DatabaseAccess,
        expecting queries: @escaping @Sendable () -> [KeyQuery],
        _ body: @escaping @Sendable (any HubWriting) throws -> [UInt8]
    ) async throws -> HubResponse {
        let ledger = ledger(for: call, access)
        let (answer, isRepeated) = try await storage.write(
            call.work, to: [access.partition], expecting: { ledger.expected + queries() }
        ) { transaction in
            if let answer = try ledger.knownAnswer(transaction) { return (answer, true) }
            let answer = try body(transaction)
            try ledger.keep(answer, short: { answer }, transaction)
            return (answer, false)
        }
        if isRepeated { metrics.countRepetition() }
        return .json(answer)
    }
}
