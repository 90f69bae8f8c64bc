/// Why bytes are no request or reply of the protocol.
package struct WireFormatError: Error, Hashable, Sendable {
    /// What is wrong and where, for whoever wrote the bytes.
    package let message: String

    /// A failure with its message.
    package init(_ message: String) { self.message = message }

    /// A failure to read a field, with the field's name in the words of Apple's service.
    package init(_ message: String, field: String) {
        self.init("\(message) (field '\(field)')")
    }
}
