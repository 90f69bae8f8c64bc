import BackstitchCore

/// The zones of a simulation.
enum SimulatedZone {
    /// The zone that all devices share in the end.
    static let usual = ZoneID("Notes")
    /// The zone that devices go to and come back from.
    static let other = ZoneID("Other")
}
