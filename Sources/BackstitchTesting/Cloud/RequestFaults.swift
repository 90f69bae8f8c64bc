import BackstitchCore

/// The faults that one request meets, and which of them came to pass.
struct RequestFaults: Sendable {
    /// The faults that the plan chose.
    var active: [ScriptedFault] = []
    /// Those that made a difference.
    var injected: [FaultKind] = []
    /// For choices among records.
    var generator = SeededGenerator(seed: 0)

    /// Whether a fault was chosen.
    func has(_ kind: FaultKind) -> Bool {
        active.contains { $0.kind == kind }
    }

    /// Whether an error for the whole request was chosen.
    var hasRequestError: Bool {
        active.contains { $0.kind.requestCode != nil }
    }

    /// Notes that a fault takes place, if it was chosen.
    mutating func take(_ kind: FaultKind) -> Bool {
        guard has(kind) else { return false }
        injected.append(kind)
        return true
    }

    /// The error that the whole request fails with, if one was chosen.
    mutating func takeRequestError() -> ServiceError? {
        for fault in active {
            guard let code = fault.kind.requestCode else { continue }
            injected.append(fault.kind)
            var seconds = fault.retryAfterSeconds
            if !fault.kind.rawValue.hasPrefix("error."), seconds == nil { seconds = 1 }
            return ServiceError(code, "injected", retryAfterSeconds: seconds)
        }
        return nil
    }

    mutating func takeStaleRead() -> Bool { take(.staleRead) }

    /// The token of an empty page, if one was chosen, for a request that is answered from a token on.
    mutating func takeEmptyPage(after token: String) -> String? {
        guard take(.stuckFeed) else { return take(.emptyPages) ? token : nil }
        let alternates = active.contains { $0.kind == .stuckFeed && $0.alternates }
        return alternates ? ChangeToken(token)?.turned.text : token
    }

    /// The error that a client makes of a proxy's answer, if one was chosen, and whether the request was
    /// applied.
    mutating func takeProxyAnswer() -> (error: ServiceError, isApplied: Bool)? {
        guard take(.proxyAnswer) else { return nil }
        let answers = FaultKind.proxyAnswers
        let (status, code) = answers[Int(generator.next() % UInt64(answers.count))]
        return (
            ServiceError(code, "injected: a proxy's \(status)"), generator.next() % 3 == 0
        )
    }

    /// Takes one record out of a page, as the faults chosen want it.
    mutating func withhold(from page: inout ZoneChangesPage) {
        for fault in active where fault.kind == .recordError && !page.records.isEmpty {
            var index = Int(generator.next() % UInt64(page.records.count))
            if let name = fault.recordName {
                guard let found = page.records.firstIndex(where: { $0.recordName == name }) else {
                    continue
                }
                index = found
            }
            let record = page.records.remove(at: index)
            page.failures[record.recordName] = ServiceError(.serviceUnavailable, "injected")
            injected.append(.recordError)
        }
    }

    /// The size of a page: 1 or 2 if `smallPages` was chosen.
    mutating func pageSize(_ size: Int) -> Int {
        guard size > 1, take(.smallPages) else { return size }
        return min(size, 1 + Int(generator.next() % 2))
    }

    /// Puts a page out of order.
    mutating func reorder(_ page: inout ZoneChangesPage) {
        guard page.records.count + page.deletions.count > 1, take(.reorderedFeed) else { return }
        page.records.shuffle(using: &generator)
        page.deletions.shuffle(using: &generator)
    }

    /// Puts a page out of order.
    mutating func reorder(_ page: inout DatabaseChangesPage) {
        guard page.changedZones.count > 1, take(.reorderedFeed) else { return }
        page.changedZones.shuffle(using: &generator)
    }
}
