import Glibc

/// The running system since it was started. What a program wrote without syncing it is there for
/// every later program as long as this stays the same.
package struct BootID: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    /// An id that no running system has; for tests.
    package init(testing number: UInt64) {
        high = 0
        low = number
    }

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The running system's, from `/proc/sys/kernel/random/boot_id` (random(4)); `nil` if that
    /// can't be read.
    package static let current: BootID? = {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var text = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &text, text.count)
        let digits = text.prefix(max(count, 0)).compactMap { byte in
            Character(UnicodeScalar(byte)).hexDigitValue.map { UInt64($0) }
        }
        guard digits.count == 32 else { return nil }
        func number(_ part: ArraySlice<UInt64>) -> UInt64 { part.reduce(0) { $0 << 4 | $1 } }
        return BootID(high: number(digits[..<16]), low: number(digits[16...]))
    }()
}
