import Testing

@testable import BackstitchCore

@Suite struct QueryOrderedKeyTests {}
