import BackstitchCore

/// Entries of a view that are in memory only, laid over the stored ones: what a read makes of the
/// operations that the stored view lacks.
final class ViewOverlay {
    /// The bytes of a value, at a place that does not move.
    @safe private struct Value {
        let bytes: UnsafeMutableRawBufferPointer

        init(_ source: UnsafeRawBufferPointer) {
            unsafe bytes = .allocate(byteCount: source.count, alignment: 8)
            unsafe bytes.copyMemory(from: source)
        }
    }

    /// The changed entries; nil for one that is gone.
    private var values: [[UInt8]: Value?] = [:]
    /// The keys of them in order; nil until first asked for.
    private var sorted: [[UInt8]]?

    init() {}

    deinit {
        for value in values.values { unsafe value?.bytes.deallocate() }
    }

    /// The number of entries that differ from the stored ones, or were touched.
    var count: Int { values.count }

    /// The value of a key; nil if the key is gone, and nil in nil if it was not touched. Valid
    /// until the key is written again.
    func value(for key: [UInt8]) -> UnsafeRawBufferPointer?? {
        guard let value = values[key] else { return unsafe .none }
        return unsafe .some(value.map { unsafe UnsafeRawBufferPointer($0.bytes) })
    }

    /// Sets the value of a key; nil where it goes.
    func set(_ value: UnsafeRawBufferPointer?, for key: [UInt8]) {
        let old = unsafe values.updateValue(value.map { unsafe Value($0) }, forKey: key)
        if let old {
            unsafe old?.bytes.deallocate()
        } else if let at = sorted?.firstPosition(notBefore: key) {
            sorted?.insert(key, at: at)
        }
    }

    /// The touched keys from one up to another, in order.
    func keys(from lower: [UInt8], to upper: [UInt8]?) -> ArraySlice<[UInt8]> {
        let sorted = self.sorted ?? values.keys.sorted { $0.lexicographicallyPrecedes($1) }
        self.sorted = sorted
        let start = sorted.firstPosition(notBefore: lower)
        let end = upper.map { sorted.firstPosition(notBefore: $0) } ?? sorted.count
        return sorted[start..<max(start, end)]
    }
}

extension [[UInt8]] {
    /// The position of the first of these keys, which are in order, that is not before another.
    fileprivate func firstPosition(notBefore key: [UInt8]) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].lexicographicallyPrecedes(key) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }
}

extension ViewEntries {
    /// Visits the stored entries with those of an overlay in between.
    func visit(
        with overlay: ViewOverlay, from lower: [UInt8], to upper: [UInt8]?, reversed: Bool,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        let touched = overlay.keys(from: lower, to: upper)
        var left = reversed ? Array(touched.reversed()) : Array(touched)
        left.reverse()
        /// Visits the next touched entry, unless it is gone.
        func visitTouched() throws -> Bool {
            guard let key = left.popLast(),
                case .some(.some(let value)) = unsafe overlay.value(for: key)
            else { return true }
            return try unsafe key.withUnsafeBytes { try unsafe visit($0, value) }
        }
        var goesOn = true
        try unsafe visitStored(from: lower, to: upper, reversed: reversed) { key, value in
            while let next = left.last {
                let order = unsafe next.withUnsafeBytes { unsafe $0.order(key) }
                if order == 0 {
                    goesOn = try visitTouched()
                    return goesOn
                }
                guard reversed ? order > 0 : order < 0 else { break }
                goesOn = try visitTouched()
                if !goesOn { return false }
            }
            goesOn = try unsafe visit(key, value)
            return goesOn
        }
        while goesOn, !left.isEmpty { goesOn = try visitTouched() }
    }
}
