extension SyncMachine {
    mutating func lookUp() -> SyncAction {
        let count = max(1, min(push.lookUpCount, limits.operationsPerRequest))
        let indexes = Array(push.lookUps.prefix(count))
        push.lookUps.removeFirst(indexes.count)
        state = .lookingUp(indexes)
        return .lookUp(indexes)
    }

    /// Decides by what a lookup found.
    ///
    /// A replica that lags behind may have answered. So a version from before the one that is known
    /// says nothing, nor does it that there is no record if a conflict said that there is one: the
    /// next round pulls first, and then tries again.
    mutating func lookedUp(_ indexes: [Int], _ results: [LookupResult]) -> SyncAction {
        guard results.count == indexes.count else {
            return finish(.backOff(.oddCount(results.count, of: indexes.count)))
        }
        var decisions: [ItemDecision] = []
        for (index, result) in zip(indexes, results) {
            switch result {
            case .found(let record)
            where record.modifiedMilliseconds < push.items[index].baseMilliseconds:
                postpone(index, .outdated)
            case .found(let record):
                decide(index, record, ServiceError(.conflict), &decisions)
            case .notFound:
                // Gone in the meantime: a create is sent again, anything else is merged.
                if push.items[index].isCreate {
                    requeue(index, ServiceError(.unknownItem))
                } else if push.unknown.contains(index) {
                    decisions.append(ItemDecision(index, .mergeAbsent))
                } else {
                    postpone(index, .outdated)
                }
            case .failed(let error):
                if error.code.scope == .zone { return handle(.failed(error)) }
                switch error.code.retry {
                case .never: park(index, error, &decisions)
                case .after(.change): block(error)
                default: postpone(index, error)
                }
            }
        }
        return apply(decisions)
    }

    /// A lookup was refused as a whole: ask for less, and give up on one that is refused alone.
    mutating func lookUpRefused(_ indexes: [Int], _ error: ServiceError) -> SyncAction {
        if indexes.count > 1 {
            push.lookUpCount = indexes.count / 2
            push.lookUps.insert(contentsOf: indexes, at: 0)
        } else {
            for index in indexes { postpone(index, error) }
        }
        return nextBatch()
    }

    /// Looks up the next of the records that were missed, as many as the service takes, and then folds or
    /// sweeps.
    mutating func lookUpMissed(
        from start: Int, of count: Int, most: Int = .max, before purpose: MissedPurpose
    ) -> SyncAction {
        guard start < count else {
            guard case .fold(let continues) = purpose else { return sweep() }
            state = .folding(continues: continues)
            return .foldOutbox(continues: continues)
        }
        let size = max(1, min(limits.operationsPerRequest, most, count - start))
        let places = start..<(start + size)
        state = .lookingUpMissed(places, of: count, before: purpose)
        return .lookUpMissed(places)
    }

    /// Asks for less if that may help. A record that can't be looked up before a fold holds up nothing: a
    /// later round asks again. Before a sweep each record has to be answered.
    mutating func missedRefused(
        _ places: Range<Int>, of count: Int, before purpose: MissedPurpose, _ error: ServiceError
    ) -> SyncAction {
        let mayHelp = error.code.retry == .after(.split) || purpose == .sweep
        if mayHelp, places.count > 1 {
            return lookUpMissed(
                from: places.lowerBound, of: count, most: places.count / 2, before: purpose)
        }
        guard purpose != .sweep else { return finish(.backOff(error)) }
        return lookUpMissed(
            from: places.upperBound, of: count, most: places.count, before: purpose)
    }
}

/// The step before which records that were missed are looked up.
enum MissedPurpose: Equatable {
    case sweep
    case fold(continues: Bool)
}

extension ServiceError {
    /// What is made of an answer from before what is known already.
    fileprivate static var outdated: ServiceError {
        ServiceError(.conflict, "A lookup was answered with an older state.")
    }
}
