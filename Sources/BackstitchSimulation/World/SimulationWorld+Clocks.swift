import Backstitch
import BackstitchCore
import BackstitchStore

extension SimulationWorld {
    /// Checks that what a device wrote last is not dated more than a minute ahead of its clock,
    /// whatever the clock was before.
    func checkClock(_ index: Int) throws {
        guard !devices[index].isCrashed else { return }
        let (home, wall) = (home(of: index), devices[index].clock.milliseconds)
        let last = try lastOperation(of: index)
        guard last.sequence > devices[home].datedThrough else { return }
        devices[home].datedThrough = last.sequence
        let milliseconds = LogicalClock.milliseconds(of: last.clock)
        guard milliseconds <= wall + 60_000 else {
            throw failure(
                "\(devices[index].name) dates what it writes ahead of its clock",
                ["operation \(last.sequence) is \(milliseconds - wall) ms ahead"])
        }
    }

    /// Lets go what a device wrote before its clock jumps.
    func passClock(_ index: Int) throws {
        guard !devices[index].isCrashed else { return }
        devices[home(of: index)].datedThrough = try lastOperation(of: index).sequence
    }

    private func lastOperation(of index: Int) throws -> (sequence: UInt64, clock: UInt64) {
        try devices[index].store.read { transaction in
            let head = try transaction.reader.head
            return (head, try transaction.reader.withOperation(head, \.clock) ?? 0)
        }
    }
}
