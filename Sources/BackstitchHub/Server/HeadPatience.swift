/// How much is looked at for one head that comes in pieces. Each look begins at the first byte, so that many
/// small pieces of a long head would cost the square of its length.
struct HeadPatience: Hashable {
    /// How often a head of the greatest length may be looked at as a whole.
    static let looksMax = 16

    private var bytesLeft: Int

    init(headBytes: Int) { bytesLeft = headBytes * Self.looksMax }

    /// Notes a look.
    ///
    /// - Returns: Whether there may be another one.
    mutating func look(at byteCount: Int) -> Bool {
        bytesLeft -= byteCount
        return bytesLeft > 0
    }
}
