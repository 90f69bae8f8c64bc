public import BackstitchTesting

/// Which faults a simulation may have.
public enum SimulationFaultChoice: Hashable, Sendable {
    /// Those that the seed takes from its profile.
    case bySeed
    /// These, and all of them.
    case only(connection: [FaultKind], events: [SimulationFault])

    /// No fault, and no other client on the service.
    public static let none = SimulationFaultChoice.only(connection: [], events: [])
    /// Every kind of fault in every seed.
    public static let all = SimulationFaultChoice.only(
        connection: FaultKind.allCases, events: SimulationFault.allCases)

    /// The names of all kinds, sorted.
    public static var names: [String] {
        (FaultKind.allCases.map(\.rawValue) + SimulationFault.allCases.map(\.rawValue)).sorted()
    }

    /// Reads `none`, `all`, or names of kinds with commas between them.
    ///
    /// - Returns: the choice, or the first name that no kind has.
    public static func reading(_ text: String) -> Result<SimulationFaultChoice, UnknownName> {
        if text == "none" { return .success(.none) }
        if text == "all" { return .success(.all) }
        var kinds: [FaultKind] = []
        var events: [SimulationFault] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let name = String(part)
            if let kind = FaultKind(rawValue: name) {
                if !kinds.contains(kind) { kinds.append(kind) }
            } else if let event = SimulationFault(rawValue: name) {
                if !events.contains(event) { events.append(event) }
            } else {
                return .failure(UnknownName(name: name))
            }
        }
        return .success(.only(connection: kinds, events: events))
    }

    /// A name that no kind of fault has.
    public struct UnknownName: Error, Hashable, Sendable {
        /// The name.
        public let name: String
    }
}

extension SimulationFaultChoice: CustomStringConvertible {
    /// What ``reading(_:)`` reads; `by seed` if the seed chooses.
    public var description: String {
        if self == .none { return "none" }
        if self == .all { return "all" }
        guard case .only(let kinds, let events) = self else { return "by seed" }
        return (kinds.map(\.rawValue) + events.map(\.rawValue)).joined(separator: ",")
    }
}
