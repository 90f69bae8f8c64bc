import BackstitchCore
import BackstitchLog

/// A projection of the configuration.
struct RegisteredProjection: Sendable {
    let projection: any RecordProjection
    let name: String
    let version: UInt32
    let isInline: Bool
    let needsWholeLog: Bool
    private let entities: Set<String>?

    init(_ projection: any RecordProjection) {
        self.projection = projection
        name = projection.name
        version = UInt32(clamping: projection.version)
        isInline = projection.mode == .inline
        needsWholeLog = projection.needsWholeLog
        entities = projection.entities.names
    }

    func wants(_ table: EntityTable) -> Bool { entities?.contains(table.name) ?? true }
}

/// The projections that a store was opened with.
struct RegisteredProjections: Sendable {
    let all: [RegisteredProjection]
    let types: TypeTable

    init(_ projections: [any RecordProjection], types: TypeTable) {
        all = projections.map { RegisteredProjection($0) }
        self.types = types
    }

    subscript(name: String) -> RegisteredProjection? { all.first { $0.name == name } }

    /// The most bytes of a name.
    static let nameByteCountMax = 200

    /// What is wrong with projections, each with its remedy.
    static func violations(_ projections: [any RecordProjection], _ schema: StoreSchema) -> [String]
    {
        var names: Set<String> = []
        let known = Set(schema.entities.map(\.name))
        return projections.flatMap { projection -> [String] in
            var violations: [String] = []
            let name = projection.name
            if name.isEmpty || name.utf8.count > nameByteCountMax {
                violations.append(
                    "The name of a projection has 1 to \(nameByteCountMax) bytes; one has "
                        + "\(name.utf8.count).")
            }
            if !names.insert(name).inserted {
                violations.append("Two projections are called '\(name)': rename one.")
            }
            if UInt32(exactly: projection.version) == nil {
                violations.append(
                    "The projection '\(name)' has the version \(projection.version): give it one "
                        + "from 0 to \(UInt32.max).")
            }
            for entity in (projection.entities.names ?? []).subtracting(known).sorted() {
                violations.append(
                    "The projection '\(name)' wants the entity '\(entity)': add its type to the "
                        + "schema.")
            }
            return violations
        }
    }
}
