import BackstitchCore
import TestBudget
import Testing

/// What becomes of every failure, whether a request failed as a whole or one record of it.
@Suite(.budgeted) struct SyncMachineFailureTests {
    /// What the machine does about a failure in the end.
    enum Reaction: Equatable {
        case makeZoneAgain, suspend
        case blocked, backOff
        case sendAgain, sendHalf, lookUp, park
    }

    private static let record: [ServiceError.Code: Reaction] = [
        .conflict: .lookUp, .alreadyExists: .lookUp, .unknownItem: .lookUp,
        .batchFailed: .sendAgain, .limitExceeded: .sendAgain,
        .referenceViolation: .park, .invalidRequest: .park, .assetMissing: .park,
        .permissionDenied: .park,
    ]

    private static let zone: [ServiceError.Code: Reaction] = [
        .zoneNotFound: .makeZoneAgain, .encryptedDataReset: .makeZoneAgain,
        .zoneDeletedByUser: .suspend, .zonePurged: .suspend,
    ]

    private static let all: [ServiceError.Code: Reaction] = [
        .network: .backOff, .serviceUnavailable: .backOff, .zoneBusy: .backOff,
        .rateLimited: .backOff, .tokenExpired: .backOff,
        .quotaExceeded: .blocked, .notAuthenticated: .blocked, .accountChanged: .blocked,
        .incompatibleVersion: .blocked, .unsupported: .blocked,
    ]

    private static func known(_ code: ServiceError.Code) -> Reaction? { zone[code] ?? all[code] }

    /// What an action says of the item at position 0.
    private func reaction(to action: SyncAction) -> Reaction? {
        switch action {
        case .forgetService: .makeZoneAgain
        case .suspend: .suspend
        case .finish(.blocked): .blocked
        case .finish(.backOff): .backOff
        case .push([0, 1], _): .sendAgain
        case .push([0], _): .sendHalf
        case .lookUp([0]): .lookUp
        case .apply(let decisions):
            decisions.contains { if $0.index == 0, case .park = $0.kind { true } else { false } }
                ? .park : nil
        default: nil
        }
    }

    @Test(arguments: ServiceError.Code.allCases)
    func `a push that fails as a whole`(code: ServiceError.Code) {
        var (machine, _) = SyncMachine.pushing([Push.update("a"), Push.update("b")])
        let expected: Reaction =
            switch code {
            case .batchFailed: .sendAgain
            case .permissionDenied: .blocked
            default: Self.known(code) ?? .sendHalf
            }
        #expect(reaction(to: machine.failed(code)) == expected)
    }

    @Test(arguments: ServiceError.Code.allCases)
    func `a push of one record that fails as a whole`(code: ServiceError.Code) {
        var (machine, _) = SyncMachine.pushing([Push.update("a")])
        let expected: Reaction? =
            switch code {
            case .batchFailed: .sendHalf
            case .limitExceeded: .park
            case .permissionDenied: .blocked
            default: Self.known(code) ?? Self.record[code]
            }
        #expect(reaction(to: machine.failed(code)) == expected)
    }

    @Test(arguments: ServiceError.Code.allCases)
    func `a record that is refused beside another one`(code: ServiceError.Code) {
        var (machine, _) = SyncMachine.pushing([Push.update("a"), Push.update("b")])
        var action = machine.handle(.pushed([Push.failed(code), Push.saved]))
        if action == .apply([ItemDecision(1, .acknowledge(Push.version))]) {
            action = machine.handle(.done)
        }
        let expected = Self.known(code) ?? Self.record[code]
        #expect(reaction(to: action) == (expected == .sendAgain ? .sendHalf : expected))
    }

    @Test(arguments: ServiceError.Code.allCases)
    func `a record that can't be looked up`(code: ServiceError.Code) {
        var (machine, _) = SyncMachine.pushing([Push.update("a")])
        #expect(machine.handle(.pushed([Push.failed(.conflict)])) == .lookUp([0]))
        let action = machine.handle(.lookedUp([.failed(ServiceError(code))]))
        let expected: Reaction =
            switch code {
            case .permissionDenied, .invalidRequest: .park
            default: Self.known(code) ?? .backOff
            }
        #expect(reaction(to: action) == expected)
    }

    @Test(arguments: ServiceError.Code.allCases)
    func `a lookup that fails as a whole`(code: ServiceError.Code) {
        var (machine, _) = SyncMachine.pushing([Push.update("a"), Push.update("b")])
        let refused = [Push.failed(.conflict), Push.failed(.conflict)]
        #expect(machine.handle(.pushed(refused)) == .lookUp([0, 1]))
        let expected: Reaction =
            code == .permissionDenied ? .blocked : Self.known(code) ?? .lookUp
        #expect(reaction(to: machine.failed(code)) == expected)
    }

    /// A machine that looks up the first of some records that were missed.
    private func lookingUpMissed(_ count: Int, most: Int = 4) -> SyncMachine {
        var machine = SyncMachine(limits: ServiceLimits(operationsPerRequest: most))
        _ = machine.handle(.began(isSetUp: true, needsPull: false, suspension: nil))
        _ = machine.handle(
            .databaseChanges(zoneChanged: false, zoneEnded: nil, moreComing: false))
        #expect(machine.handle(.missed(count)) == .lookUpMissed(0..<min(count, most)))
        return machine
    }

    @Test func `what was missed is looked up in parts, and then the outbox is folded`() {
        var machine = lookingUpMissed(9)
        #expect(machine.handle(.done) == .lookUpMissed(4..<8))
        #expect(machine.handle(.done) == .lookUpMissed(8..<9))
        #expect(machine.handle(.done) == .foldOutbox(continues: false))
        #expect(machine.handle(.missed(1)) == .lookUpMissed(0..<1))
        #expect(machine.handle(.done) == .foldOutbox(continues: false))
        #expect(machine.handle(.folded([], isComplete: true)) == .raiseFloor)
    }

    @Test func `what was missed behind a window of the outbox keeps to the window`() {
        let (first, last) = ([Push.update("a")], [Push.update("b")])
        var (machine, _) = SyncMachine.pushing(first, isComplete: false)
        let busy = Push.failed(.zoneBusy)
        #expect(machine.handle(.pushed([busy])) == .foldOutbox(continues: true))
        #expect(machine.handle(.missed(1)) == .lookUpMissed(0..<1))
        #expect(machine.handle(.done) == .foldOutbox(continues: true))
        #expect(machine.handle(.folded(last, isComplete: true)) == .push([0], atomic: false))
    }

    @Test(arguments: ServiceError.Code.allCases)
    func `a lookup of what was missed keeps nothing else from going on`(code: ServiceError.Code) {
        var machine = lookingUpMissed(9)
        let action = machine.failed(code)
        switch code {
        case .limitExceeded:
            #expect(action == .lookUpMissed(0..<2))
            #expect(machine.failed(code) == .lookUpMissed(0..<1))
            #expect(machine.failed(code) == .lookUpMissed(1..<2))
        case .permissionDenied: #expect(reaction(to: action) == .blocked)
        default:
            if let expected = Self.known(code) {
                #expect(reaction(to: action) == expected)
            } else {
                #expect(action == .lookUpMissed(4..<8))
            }
        }
    }

    @Test(arguments: ServiceError.Code.allCases)
    func `a failure before a round has done anything`(code: ServiceError.Code) {
        let error = ServiceError(code)
        let isBlocked = code == .permissionDenied || Self.all[code] == .blocked
        #expect(RoundOutcome(before: error) == (isBlocked ? .blocked(error) : .backOff(error)))
    }

    /// What is in two columns of the table and must agree.
    @Test(arguments: ServiceError.Code.allCases)
    func `scope and retry of a code fit each other`(code: ServiceError.Code) {
        let retry = code.retry
        switch code.scope {
        case .zone: #expect(retry == .after(.newZone) || retry == .after(.decision))
        case .account: #expect(retry == .never || retry == .after(.change))
        case .request: #expect(retry == .later || retry == .after(.newToken))
        case .record:
            #expect(
                retry != .later
                    && [.newZone, .decision, .change, .newToken].allSatisfy { retry != .after($0) })
        }
    }
}
