/// Bounds of the record key: a scan reads nothing beside them, and its rows need not be asked for them.
extension QueryPlanner {
    /// The record keys outside of which the conditions can't hold.
    var keyBounds: KeyRange {
        conditions.compactMap(\.keyBounds).reduce(.all) { $0.intersection($1) }
    }

    /// The positions of the conditions that are no bounds of the record key.
    var positionsBesideBounds: [Int] {
        conditions.indices.filter { conditions[$0].keyBounds == nil }
    }
}

extension Condition {
    /// The record keys for which the condition holds, if it is a bound of the record key.
    fileprivate var keyBounds: KeyRange? {
        guard case .comparison(.recordKey, let comparison, .constant(.reference(let key))) = self
        else { return nil }
        // No key begins with another one.
        return switch comparison {
        case .less: KeyRange(lower: [], upper: key.bytes)
        case .lessOrEqual: KeyRange(lower: [], upper: key.bytes + [0])
        case .greater: KeyRange(lower: key.bytes + [0], upper: nil)
        case .greaterOrEqual: KeyRange(lower: key.bytes, upper: nil)
        case .equal, .notEqual: nil
        }
    }
}

extension RecordID.Zone {
    /// What the records of the zone, and no others, have in common.
    var conditions: [Condition] {
        let bound = { (comparison: Comparison, slot: UInt8) in
            Condition.comparison(
                .recordKey, comparison, .constant(.reference(.first(in: slot))))
        }
        let lower = bound(.greaterOrEqual, slot)
        return slot < .max ? [lower, bound(.less, slot + 1)] : [lower]
    }
}
