extension AttributeType {
    /// Whether every stored value of this type is one of another type as it stands, and the service
    /// has one type for both.
    ///
    /// | from | to |
    /// |---|---|
    /// | Bool | Int16, Int32, Int64 |
    /// | Int16 | Int32, Int64 |
    /// | Int32 | Int64 |
    /// | Float | Double |
    /// | URL | String |
    /// | a list | a list, if the elements may |
    package func widens(to other: AttributeType) -> Bool {
        if self == other { return true }
        if let element, let otherElement = other.element {
            return element.widens(to: otherElement)
        }
        switch (self, other) {
        case (.bool, .int16), (.bool, .int32), (.bool, .int64), (.int16, .int32), (.int16, .int64),
            (.int32, .int64), (.float, .double), (.url, .string):
            return true
        default:
            return false
        }
    }
}
