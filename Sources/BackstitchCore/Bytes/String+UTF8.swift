extension String {
    /// The text that bytes spell; nil if they are not UTF-8.
    ///
    /// Decoding repairs what is not UTF-8, which changes its bytes; comparing them afterwards is
    /// many times faster than `init(validating:as:)`, which goes byte by byte.
    @usableFromInline
    package init?(utf8 bytes: UnsafeRawBufferPointer) {
        var text = String(decoding: bytes, as: UTF8.self)
        let isSame = text.withUTF8 { UnsafeRawBufferPointer($0).holdsSameBytes(as: bytes) }
        guard isSame else { return nil }
        self = text
    }
}
