import BackstitchCore

extension SimulationScript {
    /// Without a device and its steps; the same if it is the last one.
    func without(device: Int) -> SimulationScript {
        guard setting.devices.count > 1 else { return self }
        var script = self
        script.setting.devices.remove(device: device)
        script.steps.removeAll { $0.device == device }
        for index in script.steps.indices where script.steps[index].device > device {
            script.steps[index].device -= 1
        }
        return script
    }

    /// With nothing happening while requests are in flight.
    var calm: SimulationScript {
        var script = self
        for index in script.steps.indices { script.steps[index].isCalm = true }
        return script
    }

    /// Ways to make the setting more usual.
    var simplerSettings: [@Sendable (SimulationScript) -> SimulationScript] {
        let limits = ServiceLimits()
        let changes: [@Sendable (inout SimulationSetting) -> Void] = [
            { $0.events = [] },
            { $0.hasChanceFaults = false },
            { $0.faults = [] },
            { $0.isAtomic = false },
            { setting in
                for index in setting.devices.indices where setting.devices[index].schema == .old {
                    setting.devices[index].schema = .current
                }
            },
            { for index in $0.devices.indices { $0.devices[index].migrations = nil } },
            { for index in $0.devices.indices { $0.devices[index].home = nil } },
            { for index in $0.devices.indices { $0.devices[index].selection = .all } },
            { $0.recordsPerPass = 10_000 },
            { $0.operationsPerRequest = limits.operationsPerRequest },
            { $0.recordsPerPage = limits.recordsPerPage },
            { $0.mayBeLarge = false },
            { $0.conflictsCarryServerRecord = true },
            { $0.existsCarriesServerRecord = true },
            { $0.deletionsCarryType = true },
            { $0.wrapsLimitExceeded = false },
            { $0.mayRestore = false },
            { $0.mayLoseZone = false },
            { $0.checksLiveness = false },
        ]
        return changes.map { change in
            { script in
                var script = script
                change(&script.setting)
                return script
            }
        }
    }
}
