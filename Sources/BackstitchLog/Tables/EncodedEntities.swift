package import BackstitchCore
import LMDB
import Threading

/// The JSON of entities that were encoded last, so that a catalog which is written again costs the
/// encoding of what changed in it.
package final class EncodedEntities: Sendable {
    private struct State {
        /// The latest ones, and those before them.
        var latest: [CatalogEntity: [UInt8]] = [:]
        var earlier: [CatalogEntity: [UInt8]] = [:]
        var latestByteCount = 0
        var encodedCount = 0

        mutating func add(_ bytes: [UInt8], of entity: CatalogEntity) {
            if latest.count >= EncodedEntities.generationMax
                || latestByteCount + bytes.count > EncodedEntities.generationBytesMax
            {
                earlier = latest
                latest = [:]
                latestByteCount = 0
            }
            latest[entity] = bytes
            latestByteCount += bytes.count
        }
    }

    /// The most entities of a generation: no less than a catalog has.
    package static let generationMax = Catalog.numberMax
    /// The most bytes of a generation: each field that is added to a wide entity makes all of it new.
    package static let generationBytesMax = 8 << 20

    private let state = Locked(State())

    /// How many entities were encoded; those that were known are not among them.
    package var encodedCount: Int { state.withLock { $0.encodedCount } }

    /// The bytes of an entity, which is encoded if they are not known.
    package func bytes(of entity: CatalogEntity) throws -> [UInt8] {
        let known = state.withLock { state in
            if let known = state.latest[entity] { return Optional(known) }
            guard let known = state.earlier[entity] else { return nil }
            state.add(known, of: entity)
            return known
        }
        if let known { return known }
        let bytes = try entity.sortedJSON()
        state.withLock { state in
            state.encodedCount += 1
            state.add(bytes, of: entity)
        }
        return bytes
    }
}
