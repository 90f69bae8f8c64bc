import Backstitch
import BackstitchTesting
import Foundation

/// The record names that the devices of a simulation use, so that they meet on the same records.
struct RecordPool: Sendable {
    enum Kind: Int, CaseIterable, Sendable {
        case folder
        case note
        case tag
        case pair
        case badge
        case holder
        case seat
        case photo
        case caption

        /// Those that have no unique attributes and no files, and refer to none that have.
        static let plain: [Kind] = [.folder, .note, .tag, .pair]
    }

    /// The most names of a kind.
    static let namesMax = 12

    /// How many notes and photos are used; of other kinds half as many.
    var reach = 1
    /// The kinds that there are.
    let kinds: [Kind]
    private let names: [[String]]

    /// The names of a run; half of them are UUIDs.
    init(seed: UInt64, kinds: [Kind] = Kind.plain) {
        self.kinds = kinds
        var generator = SeededGenerator(seed: seed)
        names = Kind.allCases.map { kind in
            (0..<Self.namesMax).map { number in
                guard generator.chance(0.5) else { return "\(kind)-\(number)" }
                let bytes = (generator.next().bigEndian, generator.next().bigEndian)
                return unsafe UUID(uuid: unsafeBitCast(bytes, to: uuid_t.self)).uuidString
            }
        }
    }

    /// One of the names of a kind that are used.
    func name(_ kind: Kind, _ generator: inout SeededGenerator) -> String {
        let count = kind == .note || kind == .photo ? reach : (reach + 1) / 2
        return names[kind.rawValue][generator.below(min(count, Self.namesMax))]
    }

    /// A used name of a kind, or nil for no record.
    func target(_ kind: Kind, _ generator: inout SeededGenerator) -> String? {
        generator.chance(0.25) ? nil : name(kind, &generator)
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
