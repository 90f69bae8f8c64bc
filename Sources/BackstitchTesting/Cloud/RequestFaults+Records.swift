import BackstitchCore

extension RequestFaults {
    /// The errors that single records of a request fail with, by index.
    mutating func imposed(onNames names: [String]) -> [Int: ServiceError] {
        var errors: [Int: ServiceError] = [:]
        guard !active.isEmpty, !names.isEmpty else { return errors }
        if take(.partialFailure) {
            let sure = Int(generator.next() % UInt64(names.count))
            for index in names.indices where index == sure || generator.next() % 2 == 0 {
                errors[index] = ServiceError(.serviceUnavailable, "injected")
            }
        }
        for fault in active {
            guard let code = fault.kind.recordCode else { continue }
            let index: Int
            if let name = fault.recordName {
                guard let found = names.firstIndex(of: name) else { continue }
                index = found
            } else {
                index = Int(generator.next() % UInt64(names.count))
            }
            errors[index] = ServiceError(
                code, "injected", retryAfterSeconds: fault.retryAfterSeconds)
            injected.append(fault.kind)
        }
        return errors
    }

    /// The errors that single operations fail with, by index.
    mutating func imposed(on operations: [RecordModification]) -> [Int: ServiceError] {
        active.isEmpty ? [:] : imposed(onNames: operations.map(\.recordName))
    }

    /// Narrower limits, if `smallLimits` was chosen and the request has more than one record.
    mutating func tighten(_ limits: ServiceLimits, recordCount: Int) -> ServiceLimits {
        guard recordCount > 1, take(.smallLimits) else { return limits }
        var limits = limits
        limits.operationsPerRequest = min(limits.operationsPerRequest, recordCount / 2)
        return limits
    }

    /// The rules for a modify request, made stricter by faults.
    mutating func tighten(_ rules: RecordRules, recordCount: Int) -> RecordRules {
        guard !active.isEmpty else { return rules }
        var rules = rules
        rules.limits = tighten(rules.limits, recordCount: recordCount)
        if recordCount > 1, take(.limitExceededWrapped) {
            rules.limits.operationsPerRequest = min(
                rules.limits.operationsPerRequest, recordCount - 1)
            rules.options.wrapsLimitExceeded = true
        }
        return rules
    }

    /// Takes the server's records out of conflicts, as the faults chosen want it.
    mutating func withoutServerRecords(_ results: [ModificationResult]) -> [ModificationResult] {
        guard has(.conflictWithoutServerRecord) || has(.existsWithoutServerRecord) else {
            return results
        }
        var results = results
        for index in results.indices {
            guard case .failed(var error) = results[index], error.serverRecord != nil else {
                continue
            }
            let kind: FaultKind =
                error.code == .conflict ? .conflictWithoutServerRecord : .existsWithoutServerRecord
            guard take(kind) else { continue }
            error.serverRecord = nil
            results[index] = .failed(error)
        }
        return results
    }

    /// What a replica that lags behind answers to a lookup.
    mutating func staleLookup(_ names: [String], in zone: ZoneState) -> [LookupResult]? {
        guard take(.staleRead) else { return nil }
        return names.map { name in
            guard let slot = zone.slotsByName[name] else { return .notFound }
            return zone.slots[slot].previous.map(LookupResult.found) ?? .notFound
        }
    }
}
