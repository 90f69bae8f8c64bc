import Backstitch
import Foundation

/// The record names that the devices of a simulation use, so that they meet on the same records.
struct RecordPool: Sendable {
    enum Kind: Int, CaseIterable, Sendable {
        case folder
        case note
        case tag
        case pair
    }

    static let schema = Schema(
        SimulatedFolder.self, SimulatedNote.self, SimulatedTag.self, SimulatedPair.self)
    /// The most names of a kind.
    static let namesMax = 12

    private var names: [[String]] = Array(repeating: [], count: Kind.allCases.count)

    func all(_ kind: Kind) -> [String] { names[kind.rawValue] }

    /// A name of a kind: one that was used, or now and then a new one.
    mutating func name(
        _ kind: Kind, _ generator: inout SeededGenerator, isNew: Bool = false
    ) -> String {
        let known = names[kind.rawValue]
        if !known.isEmpty, known.count >= Self.namesMax || !(isNew || generator.chance(0.2)) {
            return generator.pick(known)
        }
        let name: String
        if generator.chance(0.5) {
            let bytes = (generator.next().bigEndian, generator.next().bigEndian)
            name = UUID(uuid: unsafeBitCast(bytes, to: uuid_t.self)).uuidString
        } else {
            name = "\(kind)-\(known.count)"
        }
        names[kind.rawValue].append(name)
        return name
    }

    /// A used name of a kind, or nil for no record.
    func target(_ kind: Kind, _ generator: inout SeededGenerator) -> String? {
        let known = names[kind.rawValue]
        return known.isEmpty || generator.chance(0.25) ? nil : generator.pick(known)
    }
}

extension SeededGenerator {
    mutating func chance(_ probability: Double) -> Bool { fraction() < probability }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }

    /// One of the elements, of which there is at least one.
    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[below(elements.count)]
    }
}
