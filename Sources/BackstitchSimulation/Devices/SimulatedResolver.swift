import Backstitch
import BackstitchTesting

/// An application that decides about conflicts: now so and now so, but always the same of the same.
enum SimulatedResolver {
    private struct Indecision: Error {}

    static func decide(_ conflict: RecordConflict) throws -> RecordConflict.Resolution {
        var generator = SeededGenerator(seed: seed(of: conflict))
        switch generator.below(12) {
        case 0..<3: return .server
        case 3..<6: return .client
        case 6..<8: return .keepBoth
        case 8: return .park(reason: "The application can't decide.")
        case 9: throw Indecision()
        default:
            var values: [String: RecordValue] = [:]
            for (name, value) in (conflict.local ?? [:]).sorted(by: { $0.key < $1.key })
            where generator.chance(0.5) && conflict.locallyChanged.contains(name) {
                values[name] = value
            }
            return .fields(values)
        }
    }

    private static func seed(of conflict: RecordConflict) -> UInt64 {
        var seed = UInt64(bitPattern: (conflict.localDate?.wholeMilliseconds ?? 0) &* 31)
        seed ^= UInt64(bitPattern: conflict.serverDate?.wholeMilliseconds ?? -1) << 20
        for byte in conflict.record.name.utf8 {
            seed = seed &* 0x100_0000_01B3 ^ UInt64(byte)
        }
        return seed
    }
}
