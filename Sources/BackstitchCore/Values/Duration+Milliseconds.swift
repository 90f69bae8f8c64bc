extension Duration {
    /// The whole milliseconds, within some 290 million years.
    package var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let bound: Int64 = 9_000_000_000_000_000
        return max(-bound, min(bound, seconds)) * 1_000 + attoseconds / 1_000_000_000_000_000
    }
}
