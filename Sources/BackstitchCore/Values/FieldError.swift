/// Why a field can't be written or read, without the value itself.
@usableFromInline
package struct FieldError: Error, Hashable, Sendable {
    @usableFromInline
    package enum Reason: Hashable, Sendable {
        /// A Double or Float is NaN or infinite, which no service stores.
        case notFinite
        /// A Date or Decimal lies outside what is stored.
        case outOfRange
        /// A stored value does not fit the attribute's type.
        case typeMismatch(stored: String)
        /// A stored number is outside the range of the attribute's integer type.
        case integerOverflow
        /// A stored raw value is that of no case of the attribute's enum.
        case unknownCase
        /// A value can't be encoded as JSON.
        case notEncodable
        /// Stored bytes are not the JSON of the attribute's type.
        case notDecodable
        /// A stored value is one that the attribute's type of the app can't be made from.
        case notConvertible
        /// The row has no value, and the attribute is neither optional nor has a default.
        case missing
        /// The bytes of an external attribute are not on this device.
        case notHere
        /// The bytes break the format.
        case damaged
        /// The value has a tag that a newer version gives.
        case newerTag(UInt8)
        /// The value is larger than a field may be.
        case tooLarge(byteCount: Int)
        /// A reference has an invalid record name.
        case invalidReference(String)
    }

    package let reason: Reason
    /// The position of the attribute in the declaration, or -1 if it is not known.
    package let index: Int

    @usableFromInline
    package init(_ reason: Reason, index: Int = -1) {
        self.reason = reason
        self.index = index
    }

    /// A stored value whose tag byte this version does not know.
    @usableFromInline
    package init(unknownTag byte: UInt8) {
        self.init(FieldTag.isReserved(byte) ? .newerTag(byte) : .damaged)
    }
}

extension FieldError: CustomStringConvertible {
    /// What is wrong and what to do, without the field's name.
    @usableFromInline package var description: String {
        switch reason {
        case .notFinite: "it is NaN or infinite; save a finite number or nil"
        case .outOfRange: "it is outside the range that can be stored"
        case .typeMismatch(let stored): "it holds a value of the stored type \(stored)"
        case .integerOverflow: "it holds a number that the attribute's integer type can't hold"
        case .unknownCase: "it holds a raw value that the attribute's enum has no case for"
        case .notEncodable: "it can't be encoded as JSON"
        case .notDecodable: "it holds bytes that its Codable type can't be decoded from"
        case .notConvertible: "it holds a value that its Swift type refuses"
        case .missing: "it has no value; make the attribute optional or give it a default"
        case .notHere:
            "its bytes are not on this device; start a sync engine for the store, or try again when "
                + "the service can be reached"
        case .newerTag(let tag):
            "it holds a value of a kind that a newer version wrote (tag \(tag)); open the store "
                + "with that version"
        case .damaged: "its bytes are damaged; run verify and rebuild"
        case .tooLarge(let byteCount):
            "it has \(byteCount) bytes, and a field has \(_FieldWriter.fieldBytesMax) at most; keep "
                + "larger data, such as a photo, in a file and save the file's name, or divide it "
                + "among several records"
        case .invalidReference(let reason): "it refers to an impossible record name: \(reason)"
        }
    }
}
