/// Decides which files are transferred when: some at a time in each direction, those that somebody waits
/// for first, and a failed one again after a wait.
///
/// An event goes in, and the actions come out that have to be performed; there is no clock, network or
/// task in here.
///
/// | state | wanted | ended well | ended with a failure that may pass | timer |
/// |---|---|---|---|---|
/// | unknown | waiting | — | — | — |
/// | waiting | at the higher priority | — | — | — |
/// | running | at the higher priority | unknown | an upload for a push: delayed; else unknown | — |
/// | delayed | a caller: waiting | — | — | due: waiting |
package struct TransferMachine<ID: Hashable & Sendable>: Equatable, Sendable {
    /// A direction, with connections of its own.
    package enum Lane: Hashable, Sendable, CaseIterable {
        case upload
        case download

        /// The most transfers at a time.
        package var transfersMax: Int {
            switch self {
            case .upload: 2
            case .download: 4
            }
        }
    }

    /// What a transfer is wanted for.
    package enum Priority: Int, Comparable, Sendable {
        /// The application may read the file later.
        case prefetch
        /// A record waits for it.
        case push
        /// A call waits for it.
        case caller

        package static func < (one: Priority, other: Priority) -> Bool {
            one.rawValue < other.rawValue
        }
    }

    package enum State: Equatable, Sendable {
        case waiting
        case running
        case delayed(untilMilliseconds: Int64)
    }

    /// What has to be performed.
    package enum Action: Equatable, Sendable {
        case start(ID)
        /// Tell who waits how it ended; nil is well.
        case tell(ID, ServiceError?)
        /// Hand in a timer event at a time, instead of the one before; nil is never.
        case setTimer(dueMilliseconds: Int64?)
    }

    private struct Transfer: Equatable, Sendable {
        var lane: Lane
        var priority: Priority
        var state = State.waiting
        /// Whether a record waits for it in an engine that goes on by itself. One that was wanted by calls
        /// alone ends with them.
        var isForPush: Bool
        var backoff = Backoff()
        /// The order of arrival.
        var number: Int
    }

    private var transfers: [ID: Transfer] = [:]
    private var arrivals = 0
    private var timerMilliseconds: Int64?
    private let transfersMax: Int

    /// - Parameter transfersMax: The most at a time in a direction, if that is less than the direction takes.
    package init(transfersMax: Int = .max) {
        precondition(transfersMax > 0, "At least one transfer runs at a time.")
        self.transfersMax = transfersMax
    }

    /// How it stands with a transfer; nil if it is not wanted.
    package func state(of id: ID) -> State? { transfers[id]?.state }

    /// The states of all transfers of a direction, in no order.
    package func states(in lane: Lane) -> [State] {
        transfers.values.filter { $0.lane == lane }.map(\.state)
    }

    /// Whether a record waits for a transfer in an engine that goes on by itself.
    package func isForPush(_ id: ID) -> Bool { transfers[id]?.isForPush ?? false }

    /// A transfer is wanted.
    package mutating func want(_ id: ID, in lane: Lane, _ priority: Priority) -> [Action] {
        if var known = transfers[id] {
            known.priority = max(known.priority, priority)
            if priority == .push { known.isForPush = true }
            // What a person asks for does not wait for the end of a delay.
            if priority == .caller, case .delayed = known.state { known.state = .waiting }
            transfers[id] = known
        } else {
            arrivals += 1
            transfers[id] = Transfer(
                lane: lane, priority: priority, isForPush: priority == .push, number: arrivals)
        }
        return goOn()
    }

    /// A transfer that was started has ended.
    ///
    /// - Parameters:
    ///   - error: Why it failed; nil if it did not.
    ///   - random: From 0 up to 1.
    package mutating func ended(
        _ id: ID, _ error: ServiceError?, now: Int64, random: Double
    ) -> [Action] {
        guard var transfer = transfers[id], transfer.state == .running else { return [] }
        if let error, transfer.isForPush, transfer.lane == .upload, error.mayPass {
            transfer.state = .delayed(
                untilMilliseconds: now + transfer.backoff.failed(error, random: random))
            // Who called is told; what is left is that a record waits.
            transfer.priority = .push
            transfers[id] = transfer
        } else {
            transfers[id] = nil
        }
        return [.tell(id, error)] + goOn()
    }

    /// The timer ended.
    package mutating func timer(now: Int64) -> [Action] {
        timerMilliseconds = nil
        for (id, transfer) in transfers {
            if case .delayed(let due) = transfer.state, due <= now {
                transfers[id]?.state = .waiting
            }
        }
        return goOn()
    }

    /// Forgets everything; what runs is to be cancelled.
    package mutating func stop() -> [Action] {
        let ids = transfers.sorted { $0.value.number < $1.value.number }.map(\.key)
        transfers = [:]
        timerMilliseconds = nil
        return ids.map { .tell($0, ServiceError(.network, "the engine was stopped")) }
            + [.setTimer(dueMilliseconds: nil)]
    }

    private mutating func goOn() -> [Action] {
        var actions: [Action] = []
        for lane in Lane.allCases {
            let own = transfers.filter { $0.value.lane == lane }
            let free =
                min(transfersMax, lane.transfersMax) - own.count { $0.value.state == .running }
            let next = own.filter { $0.value.state == .waiting }.sorted { one, other in
                (-one.value.priority.rawValue, one.value.number)
                    < (-other.value.priority.rawValue, other.value.number)
            }
            for (id, _) in next.prefix(max(0, free)) {
                transfers[id]?.state = .running
                actions.append(.start(id))
            }
        }
        let due = transfers.values.compactMap { transfer -> Int64? in
            if case .delayed(let due) = transfer.state { due } else { nil }
        }.min()
        if due != timerMilliseconds {
            timerMilliseconds = due
            actions.append(.setTimer(dueMilliseconds: due))
        }
        return actions
    }
}

extension ServiceError {
    /// Whether a transfer may go well later, without another file or record.
    package var mayPass: Bool {
        switch code.retry {
        case .now, .later, .after(.change): code != .unsupported && code != .incompatibleVersion
        case .never, .after: false
        }
    }
}
