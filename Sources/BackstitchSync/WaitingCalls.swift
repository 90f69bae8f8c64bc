import BackstitchCore
import BackstitchStore

/// The calls of the application that don't run yet, each in one place.
struct WaitingCalls: Equatable, Sendable {
    typealias CallID = EngineMachine.CallID

    /// What a call waits for that does not run for it alone.
    enum Wait: Equatable, Sendable {
        /// The end of a round that begins no earlier than the one of this number.
        case round(Round.ID)
        /// An operation that is settled or parked.
        case operation(UInt64)
    }

    /// What is run when the round that is under way has ended, and for whom.
    struct Ask: Equatable, Sendable {
        var purpose: Round.Purpose
        var calls: Set<CallID>
    }

    /// In the order in which they came; exchanges are one.
    private(set) var asked: [Ask] = []
    private(set) var waits: [CallID: Wait] = [:]

    /// The operations that calls wait for.
    var operations: [CallID: UInt64] {
        waits.compactMapValues { if case .operation(let sequence) = $0 { sequence } else { nil } }
    }

    /// Every call, as often as it waits.
    var all: [CallID] { asked.flatMap(\.calls) + waits.keys }

    /// Lets a call wait for a round of its own, or for the exchange that others wait for.
    mutating func ask(_ purpose: Round.Purpose, for call: CallID) {
        guard purpose.isExchange else {
            return asked.append(Ask(purpose: purpose, calls: [call]))
        }
        if let place = asked.firstIndex(where: \.purpose.isExchange) {
            asked[place].calls.insert(call)
        } else {
            asked.append(Ask(purpose: .exchange(.manual), calls: [call]))
        }
    }

    mutating func wait(_ call: CallID, for wait: Wait) { waits[call] = wait }

    /// Takes what is run next; nil if nothing is asked for.
    mutating func next() -> Ask? { asked.isEmpty ? nil : asked.removeFirst() }

    /// Forgets a call, wherever it waits.
    mutating func remove(_ call: CallID) {
        waits[call] = nil
        for place in asked.indices { asked[place].calls.remove(call) }
        asked.removeAll { $0.calls.isEmpty }
    }

    /// Ends a call's wait for an operation or a round.
    ///
    /// - Returns: Whether it waited for one.
    mutating func endWait(_ call: CallID) -> Bool { waits.removeValue(forKey: call) != nil }

    /// Ends the waits for a round or an earlier one.
    mutating func endRounds(through id: Round.ID) -> Set<CallID> {
        let ended = waits.filter {
            if case .round(let from) = $0.value { from <= id } else { false }
        }
        for call in ended.keys { waits[call] = nil }
        return Set(ended.keys)
    }

    /// Ends everything.
    mutating func removeAll() -> Set<CallID> {
        defer { self = WaitingCalls() }
        return Set(all)
    }

    /// What is wrong with it; nil if nothing is.
    var violation: String? {
        if asked.contains(where: \.calls.isEmpty) { return "Something is asked for by no call." }
        if asked.count(where: \.purpose.isExchange) > 1 { return "Two exchanges are asked for." }
        return nil
    }
}
