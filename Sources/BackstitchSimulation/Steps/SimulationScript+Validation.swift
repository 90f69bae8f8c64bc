/// Why a script can't be run.
public struct SimulationScriptError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with it, and what would be right.
    public let description: String
}

extension SimulationScript {
    /// Checks what comes from outside, so that running it can't trap.
    /// - Throws: if a value is out of its range.
    public func validate() throws(SimulationScriptError) {
        guard version == Self.currentVersion else {
            throw SimulationScriptError(
                description: "The script has version \(version), and this program reads "
                    + "\(Self.currentVersion). Make it anew from its seed.")
        }
        try Self.require(setting.devices.count, 1...8, "The number of devices")
        for (index, device) in setting.devices.enumerated() {
            try Self.require(
                device.migrations ?? 0, 0...SimulatedMigrations.countMax,
                "The number of data migrations of device \(index)")
            guard let home = device.home else { continue }
            try Self.require(home, 0...max(0, index - 1), "The home of device \(index)")
            let isShared = index > 0 && setting.devices[home].home == nil
            guard isShared, setting.devices[home].schema == device.schema,
                setting.devices[home].selection == device.selection
            else {
                throw SimulationScriptError(
                    description:
                        "Device \(index) can't share the store of \(home). Name an earlier "
                        + "device with a store of its own, the same schema and the same selection.")
            }
        }
        try Self.require(setting.operationsPerRequest, 1...1_000_000, "operationsPerRequest")
        try Self.require(setting.recordsPerPage, 1...1_000_000, "recordsPerPage")
        try Self.require(setting.recordsPerPass, 1...1_000_000, "recordsPerPass")
        try Self.require(steps.count, 0...Self.stepsMax, "The number of steps")
        for (index, step) in steps.enumerated() {
            try step.validate("step \(index + 1)", devices: setting.devices.count)
        }
    }

    fileprivate static func require<Number: FixedWidthInteger>(
        _ number: Number, _ range: ClosedRange<Number>, _ name: String
    ) throws(SimulationScriptError) {
        guard range.contains(number) else {
            throw SimulationScriptError(
                description: "\(name) is \(number); it has to be from \(range.lowerBound) to "
                    + "\(range.upperBound).")
        }
    }
}

extension SimulationStep {
    fileprivate func validate(_ place: String, devices: Int) throws(SimulationScriptError) {
        func require(
            _ number: Int, _ range: ClosedRange<Int>, _ name: String
        ) throws(SimulationScriptError) {
            try SimulationScript.require(number, range, "\(name) of \(place)")
        }
        try require(device, 0...devices - 1, "The device")
        try require(names, 1...RecordPool.namesMax, "The number of names")
        try SimulationScript.require(
            pauseMilliseconds, 0...1_000_000_000_000, "The pause of \(place)")
        switch action {
        case .crashInEdit(let commits), .crashInExchange(let commits), .fillDisk(let commits):
            try require(commits, 0...1_000_000, "The number of commits")
        case .migrate(let count, let failsAfter):
            try require(
                count, 0...SimulatedMigrations.countMax, "The number of data migrations")
            try require(failsAfter ?? 0, 0...1_000_000, "The records before the failure")
        case .goOffline(let steps):
            try require(steps, 0...SimulationScript.stepsMax, "The number of steps offline")
        case .jumpClock(let milliseconds):
            try SimulationScript.require(
                milliseconds, -1_000_000_000_000...1_000_000_000_000, "The jump of \(place)")
        case .inject(let fault):
            try require(fault.skip, 0...1_000_000, "The requests to skip")
            try require(fault.requests, 1...1_000_000, "The number of requests")
            try require(fault.lateBy, 0...1_000_000, "The requests to be late by")
        case .disturb(let trouble):
            try require(trouble.request, 0...1_000_000, "The request")
            try require(trouble.replySteps, 0...SimulationScript.stepsMax, "The steps to the reply")
            try require(trouble.replyRequest, 0...1_000_000, "The request of the reply")
        case .cutTransfer(let trouble):
            try require(trouble.bytes, 0...1_000_000, "The bytes of a transfer")
        case .rollBack(let state, let requests):
            try require(state, 0...1_000_000, "The state")
            try require(requests, 0...1_000_000, "The requests before the rollback")
        default: break
        }
    }
}
