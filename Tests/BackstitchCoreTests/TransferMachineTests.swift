import BackstitchCore
import TestBudget
import Testing

/// Which files are transferred when, by value.
@Suite(.budgeted) struct TransferMachineTests {
    private typealias Machine = TransferMachine<String>
    private let network = ServiceError(.network, "cut")

    @Test func `a transfer starts at once, and its end is told`() {
        var machine = Machine()
        #expect(machine.want("a", in: .upload, .push) == [.start("a")])
        #expect(machine.state(of: "a") == .running)
        #expect(machine.ended("a", nil, now: 0, random: 0) == [.tell("a", nil)])
        #expect(machine.state(of: "a") == nil)
    }

    @Test func `a transfer that is wanted twice runs once`() {
        var machine = Machine()
        #expect(machine.want("a", in: .upload, .push) == [.start("a")])
        #expect(machine.want("a", in: .upload, .caller) == [])
        #expect(machine.ended("a", nil, now: 0, random: 0) == [.tell("a", nil)])
        #expect(machine.ended("a", nil, now: 0, random: 0) == [], "it had ended")
    }

    @Test(arguments: [(TransferMachine<String>.Lane.upload, 2), (.download, 4)])
    func `each direction has its own most`(lane: TransferMachine<String>.Lane, most: Int) {
        var machine = Machine()
        for number in 0..<most {
            #expect(machine.want("\(number)", in: lane, .push) == [.start("\(number)")])
        }
        #expect(machine.want("next", in: lane, .push) == [])
        #expect(machine.state(of: "next") == .waiting)
        let other: TransferMachine<String>.Lane = lane == .upload ? .download : .upload
        #expect(machine.want("other", in: other, .push) == [.start("other")])
        #expect(
            machine.ended("0", nil, now: 0, random: 0) == [.tell("0", nil), .start("next")])
    }

    @Test func `what a call waits for comes before what a record needs, and that before the rest`()
    {
        var machine = Machine()
        _ = machine.want("a", in: .upload, .push)
        _ = machine.want("b", in: .upload, .push)
        _ = machine.want("prefetch", in: .upload, .prefetch)
        _ = machine.want("push", in: .upload, .push)
        _ = machine.want("call", in: .upload, .caller)
        _ = machine.want("later", in: .upload, .caller)
        var order: [String] = []
        for done in ["a", "b", "call", "later", "push"] {
            for case .start(let next) in machine.ended(done, nil, now: 0, random: 0) {
                order.append(next)
            }
        }
        #expect(order == ["call", "later", "push", "prefetch"])
    }

    @Test func `an upload that a record needs is tried again after longer and longer waits`() {
        var machine = Machine()
        _ = machine.want("a", in: .upload, .push)
        #expect(
            machine.ended("a", network, now: 1_000, random: 0)
                == [.tell("a", network), .setTimer(dueMilliseconds: 1_500)])
        #expect(machine.state(of: "a") == .delayed(untilMilliseconds: 1_500))
        #expect(
            machine.want("a", in: .upload, .push) == [], "a round that wants it again waits too")
        #expect(machine.timer(now: 1_500) == [.start("a")])
        #expect(
            machine.ended("a", network, now: 2_000, random: 0)
                == [.tell("a", network), .setTimer(dueMilliseconds: 3_000)])
    }

    @Test func `a service that asks to wait is given the time`() {
        var machine = Machine()
        _ = machine.want("a", in: .upload, .push)
        let busy = ServiceError(.rateLimited, "", retryAfterSeconds: 30)
        #expect(
            machine.ended("a", busy, now: 0, random: 0)
                == [.tell("a", busy), .setTimer(dueMilliseconds: 30_000)])
    }

    @Test func `a call does not wait for the end of a delay`() {
        var machine = Machine()
        _ = machine.want("a", in: .upload, .push)
        _ = machine.ended("a", network, now: 0, random: 0)
        #expect(
            machine.want("a", in: .upload, .caller)
                == [.start("a"), .setTimer(dueMilliseconds: nil)])
    }

    @Test func `an upload that calls alone want ends with them, and is not tried again by itself`()
    {
        var machine = Machine()
        _ = machine.want("a", in: .upload, .caller)
        #expect(machine.ended("a", network, now: 0, random: 0) == [.tell("a", network)])
        #expect(machine.state(of: "a") == nil)
        _ = machine.want("b", in: .upload, .caller)
        #expect(machine.want("b", in: .upload, .push) == [])
        #expect(
            machine.ended("b", network, now: 0, random: 0)
                == [.tell("b", network), .setTimer(dueMilliseconds: 500)],
            "a record waits for it too")
    }

    @Test func `fewer go on at a time if so few are allowed`() {
        var machine = Machine(transfersMax: 1)
        #expect(machine.want("a", in: .upload, .push) == [.start("a")])
        #expect(machine.want("b", in: .upload, .push) == [])
        #expect(machine.want("c", in: .download, .caller) == [.start("c")])
        #expect(machine.ended("a", nil, now: 0, random: 0) == [.tell("a", nil), .start("b")])
    }

    @Test func `a failure that another try does not change ends it`() {
        var machine = Machine()
        _ = machine.want("a", in: .upload, .push)
        let large = ServiceError(.limitExceeded, "too large")
        #expect(machine.ended("a", large, now: 0, random: 0) == [.tell("a", large)])
        #expect(machine.state(of: "a") == nil)
    }

    @Test func `a download that failed is forgotten, whoever wants it asks again`() {
        var machine = Machine()
        _ = machine.want("a", in: .download, .caller)
        #expect(machine.ended("a", network, now: 0, random: 0) == [.tell("a", network)])
        #expect(machine.state(of: "a") == nil)
    }

    @Test func `the end of the engine tells everybody who waits`() {
        var machine = Machine()
        _ = machine.want("a", in: .upload, .push)
        _ = machine.want("b", in: .download, .caller)
        let told = machine.stop().compactMap { action -> String? in
            if case .tell(let id, let error) = action, error?.code == .network { id } else { nil }
        }
        #expect(told == ["a", "b"])
        #expect(machine.ended("a", nil, now: 0, random: 0) == [], "its task ends later")
    }

    @Test(arguments: ServiceError.Code.allCases)
    func `only failures that may pass are tried again`(code: ServiceError.Code) {
        let passing: Set<ServiceError.Code> = [
            .batchFailed, .rateLimited, .zoneBusy, .serviceUnavailable, .network, .quotaExceeded,
            .notAuthenticated, .accountChanged,
        ]
        #expect(ServiceError(code).mayPass == passing.contains(code))
    }
}
