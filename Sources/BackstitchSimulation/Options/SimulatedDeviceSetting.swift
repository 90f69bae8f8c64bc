import Backstitch

/// What a seed chooses once for a device.
public struct SimulatedDeviceSetting: Hashable, Sendable, Codable {
    /// Its clock, its random numbers, and the faults that it meets by chance.
    var seed: UInt32
    /// The device whose store it shares, as another process on the same machine; nil if the store
    /// is its own.
    var home: Int?
    /// The version of the application's schema that it begins with.
    var schema = SimulatedSchema.current
    /// How many data migrations the application has that it begins with; nil for none.
    var migrations: Int?
    /// What it exchanges until the devices settle.
    var selection = SimulatedSelection.all
    /// How its engine decides about conflicts; nil if it does as the setting says.
    var policy: ConflictPolicy?
    /// What its engine does if one side deleted a record; nil if it does as the setting says.
    var deletePolicy: ConflictRules.DeletePolicy?

    package init(seed: UInt32) { self.seed = seed }
}

extension [SimulatedDeviceSetting] {
    /// The device whose store a device uses, which may be its own.
    func home(of index: Int) -> Int { self[index].home ?? index }

    /// Takes a device away. If others share its store, the first of them gets it.
    mutating func remove(device: Int) {
        let heir = indices.first { self[$0].home == device }
        for index in indices where self[index].home == device {
            self[index].home = index == heir ? nil : heir
        }
        remove(at: device)
        for index in indices {
            if let home = self[index].home, home > device { self[index].home = home - 1 }
        }
    }
}
